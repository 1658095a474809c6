/* kernel.c - libraries with a kernel each, right and wrong ones: OWN says which (make/tests.mk). */
#define _GNU_SOURCE /* syscall(), uselocale() */
#include "kernels/own_kernel.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    SOFT,   /* a map */
    AXPY,   /* of two arrays */
    TOTAL,  /* a reduction of ints */
    PLACE,  /* its results depend on the place in the tile, which they must not */
    NEWER,  /* of a version that is not there yet */
    NONAME, /* and those that say what can't be */
    SPACED,
    TAKEN,
    TWINLESS,
    INPUTS,
    TYPES,
    COST,
    PAIR,
    WIDE,
    CRASH, /* its twin writes where nothing is */
    EXIT,  /* or ends the program */
    GARBLED,
    /* Twins that write behind their output, or into their input, or not all. */
    WILD,
    MEDDLER,
    LAZY,
    /* Launchers without a twin; and one whose results depend on the place in the tile. */
    BLIND,
    BLINDSUM,
    BLINDPLACE,
    /* Launchers that write behind their output, or something else than their twins, or fail. */
    STRAY,
    ODD,
    FAILING,
    PARITY,  /* its results depend on whether the place in the tile is odd */
    QUIT,    /* its twin ends the program at once */
    DOUBLES, /* its results are of another type */
    TALKER,  /* its twin prints what could be a verdict, and ends the program past all that watches ends */
    /* What is run when they are opened, or closed, ends the program, crashes or never returns. */
    LEAVES,
    QUITS,
    FALLS,
    HANGS,
    LEAVES_LATE,
    QUITS_LATE,
    FALLS_LATE,
    HANGS_LATE,
    LEAVES_USED, /* once its twin was called */
    ELSEWHERE, /* it goes to another folder when it is opened */
    QUITS_BESIDE, /* a thread of its own ends the program */
    COMMAS,      /* it chooses a locale whose numbers have commas, for the process and the thread */
};

#define SUMS (OWN == TOTAL || OWN == BLINDSUM)

#ifndef OWN_NONE
static void end_badly(int how)
{
    static float *volatile nowhere;
    static volatile int for_ever = 1;
    if (how == LEAVES)
        _Exit(0);
    if (how == QUITS)
        exit(0);
    if (how == FALLS)
        *nowhere = 1;
    while (how == HANGS && for_ever)
        continue;
}

static int used;

__attribute__((destructor)) static void closed(void)
{
    if (OWN >= LEAVES_LATE && OWN <= HANGS_LATE)
        end_badly(OWN - LEAVES_LATE + LEAVES);
    if (OWN == LEAVES_USED && used)
        _Exit(0);
}

static locale_t commas;

__attribute__((constructor)) static void opened(void)
{
    if (OWN >= LEAVES && OWN <= HANGS)
        end_badly(OWN);
    if (OWN == ELSEWHERE && chdir("/") != 0)
        abort();
    if (OWN == COMMAS) {
        setlocale(LC_ALL, "commas");
        commas = newlocale(LC_ALL_MASK, "commas", (locale_t)0);
    }
}

static void *quit(void *unused)
{
    (void)unused;
    _Exit(0);
}

static void host(const struct pipeline_work *work)
{
    const float *in = work->in[0], *second = work->in[1];
    const int32_t *ints = work->in[0];
    float *out = work->out;
    static float *volatile nowhere;
    uint32_t sum = 0;
    used = 1;
    if (OWN == COMMAS)
        uselocale(commas);
    if (OWN == EXIT)
        exit(0);
    if (OWN == TALKER) {
        puts("all well");
        fflush(stdout);
    }
    if (OWN == QUIT)
        _Exit(0);
    if (OWN == QUITS_BESIDE) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, quit, NULL) == 0)
            pthread_join(thread, NULL);
    }
    if (OWN == TALKER)
        syscall(SYS_exit_group, 0);
    if (OWN == CRASH)
        *nowhere = in[0];
    const uint64_t count = work->count - (OWN == LAZY && work->count == 257);
    for (uint64_t i = 0; i < count; i++) {
        if (SUMS)
            sum += (uint32_t)ints[i];
        else if (OWN == PARITY)
            out[i] = i % 2 == 0 ? in[i] : -in[i];
        else if (OWN == DOUBLES)
            ((double *)out)[i] = 0.1 * in[i];
        else if (OWN == AXPY)
            out[i] = 3 * in[i] + second[i];
        else if (OWN == PLACE || OWN == BLINDPLACE || OWN == LEAVES_USED)
            out[i] = in[i] + (float)i;
        else
            out[i] = in[i] > 0 ? in[i] / 2 : expm1f(in[i]);
    }
    if (SUMS)
        *(int32_t *)work->out = (int32_t)sum;
    if (OWN == WILD)
        out[work->count] = 1;
    if (OWN == MEDDLER)
        *(float *)work->in[0] = 2;
}

/* The memory of a device is the host's on tests/gpu/fake_runtime.c, the only one that these are
 * run on. */
static int launch(const struct pipeline_work *work, void *stream)
{
    (void)stream;
    host(work);
    if (OWN == STRAY)
        ((float *)work->out)[work->count + 2] = 1;
    if (OWN == ODD && work->count == 33)
        ((float *)work->out)[32] += 1;
    return OWN == FAILING ? 9 : 0; /* cudaErrorInvalidConfiguration */
}

const struct pipeline_kernel pipeline_kernel = {
    .version = PIPELINE_KERNEL_VERSION + (OWN == NEWER),
    .inputs = OWN == INPUTS ? 3 : OWN == AXPY || OWN == PAIR ? 2 : 1,
    .name = OWN == GARBLED ? (const char *)8 : OWN == NONAME ? NULL : OWN == SPACED ? "two words" : OWN == TAKEN ? "scale" : "mine",
    .in = SUMS ? PIPELINE_INT32 : PIPELINE_FLOAT32,
    .out = SUMS           ? PIPELINE_INT32
           : OWN == TYPES ? (enum pipeline_type)7
           : OWN == DOUBLES ? PIPELINE_FLOAT64
                          : PIPELINE_FLOAT32,
    .reduces = SUMS || OWN == PAIR,
    .flops = OWN == COST ? -1 : 2,
    .bytes = OWN == AXPY ? 12 : 0,
    .tolerance = OWN == WIDE ? 2 : 0,
    .launch = OWN == SOFT || (OWN >= BLIND && OWN <= FAILING) ? launch : NULL,
    .host = OWN == TWINLESS || (OWN >= BLIND && OWN <= BLINDPLACE) ? NULL : host,
};
#else
const int nothing = 0;
#endif
