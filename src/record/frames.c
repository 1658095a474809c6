/* frames.c - where calls come from: all frames with --backtrace, and, for the calls that make
 * something, the place that made it. */
#include "record/places.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <unwind.h>

/* Of libgcc_s, which the program may lack: then nobody knows where calls come from. */
static _Unwind_Reason_Code (*unwind)(_Unwind_Trace_Fn, void *);
static _Unwind_Ptr (*frame_place)(struct _Unwind_Context *);
static bool can_unwind;

void frames_begin(void)
{
    void *frame;
    void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
    const struct wanted wanted[] = {{"_Unwind_Backtrace", &unwind, true},
                                    {"_Unwind_GetIP", &frame_place, true}};
    can_unwind = api_find(library, wanted, sizeof wanted / sizeof wanted[0]);
    if (!record_frames)
        return;
    backtrace(&frame, 1); /* the first one loads a library: not within a call of CUDA's */
    python_begin();
}

static void note(enum entry_kind kind, uint32_t call, const uint64_t *words, int count)
{
    const struct entry entry = {
        .kind = (uint8_t)kind, .call = call, .words = count > 0 ? (uint32_t)count : 0};
    if (count > 0)
        entries_add(&entry, words);
}

/* The innermost frames are this library's and CUPTI's. Those of a call from Python are the
 * interpreter's, and say nothing beside its line. */
void frames_note(uint32_t call)
{
    void *frames[FRAMES_MOST];
    uint64_t words[FRAMES_MOST];
    int count = python_note(call) ? 0 : backtrace(frames, FRAMES_MOST);
    for (int i = 0; i < count; i++)
        words[i] = (uint64_t)(uintptr_t)frames[i];
    note(ENTRY_FRAMES, call, words, count);
}

/* Goes out to the first frame that is not CUDA's, and no further: the program's own may be such
 * as nobody can unwind. */
static _Unwind_Reason_Code leave_cuda(struct _Unwind_Context *context, void *found)
{
    const uint64_t place = frame_place(context);
    const enum place_side side = place_side(place);
    if (side == PLACE_CUDAS)
        return _URC_NO_REASON;
    *(uint64_t *)found = side == PLACE_PROGRAMS ? place : 0;
    return _URC_NORMAL_STOP;
}

void frames_note_maker(uint32_t call)
{
    uint64_t place = 0;
    if (!can_unwind)
        return;
    unwind(leave_cuda, &place);
    note(ENTRY_FROM, call, &place, place != 0);
}
