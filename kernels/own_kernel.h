/* pipeline/kernel.h - a kernel of your own, for pipeline to run: build a shared library that
 * defines `pipeline_kernel`, and name it, as in `pipeline --kernel=./mine.so`.
 *
 *     nvcc -shared -Xcompiler -fPIC -arch=native -o mine.so mine.cu
 *
 * See docs/your-kernel.md. Plain C, and C++ that nvcc compiles. */
#ifndef PIPELINE_OWN_KERNEL_H
#define PIPELINE_OWN_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PIPELINE_KERNEL_VERSION 1 /* of this header: grows with every change */

enum pipeline_type { PIPELINE_FLOAT32, PIPELINE_INT32, PIPELINE_FLOAT64 };

/* One piece of work: a tile, or a part of one. A launcher is given device pointers and a CPU
 * twin host pointers. All are aligned to an element. `out` may be in[0]; nothing else overlaps.
 */
struct pipeline_work {
    const void *in[2]; /* `count` elements each; in[1] is NULL for a kernel of one input */
    void *out;         /* `count` elements, or one value of a reduction */
    uint64_t count;    /* at least 1 */
    uint32_t blocks; /* launcher: as many blocks of 256 threads fill the GPU, or do the work */
};

struct pipeline_kernel {
    uint32_t version;           /* PIPELINE_KERNEL_VERSION */
    uint32_t inputs;            /* arrays that it reads: 1, or 2 */
    const char *name;           /* at most 31 letters, digits, - and _ */
    const char *summary;        /* a line about it; NULL: none */
    enum pipeline_type in, out; /* of elements */
    /* 0: element i of the output depends on element i of the inputs alone. 1: there is one
     * value for a tile, and that of two parts together is the sum of theirs. */
    uint32_t reduces;
    double flops; /* floating-point operations per element, at least 0 */
    double bytes; /* of device memory moved per element; 0: inputs and output, once each */
    /* Floats: by how much of its own size a right result may differ from the twin's; of a
     * reduction, of the sum of its elements' sizes. 0: as much as is usual for the type. */
    double tolerance;
    /* Launches the work on `stream`, a cudaStream_t, and there alone, and does not wait.
     * Returns the cudaError_t of the launch. NULL: it runs on simulated machines alone. */
    int (*launch)(const struct pipeline_work *work, void *stream);
    /* Does the same work on the CPU, in one thread. Called from many threads. Results are
     * compared with it, and simulated machines and `--ways=4` run it. NULL: the GPU's results
     * are compared with those of one launch on the whole array. */
    void (*host)(const struct pipeline_work *work);
};

/* A library defines this, and pipeline looks for nothing else in it. */
extern const struct pipeline_kernel pipeline_kernel;

#ifdef __cplusplus
}
#endif

#endif
