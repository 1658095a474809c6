/* play.h - plays CUPTI's part to the recorder: calls with calls within them, activity records,
 * resources; and notes what the recording must say of it.
 *
 * Expected lines are those of the recording with "*" for each time, and with the text of a
 * kernel's name instead of its number: what judge prints. */
#ifndef PIPELINE_TESTS_PLAY_H
#define PIPELINE_TESTS_PLAY_H

#include "fakes.h"

#include <stdint.h>

/* Loads the fakes and, as CUDA would, the library that CUDA_INJECTION64_PATH names. */
void play_begin(void);

/* Calls InitializeInjection() once more. */
void play_inject(void);

/* The context that everything is in, unless a test says otherwise; its number is 1. */
extern struct fake_context play_context;
extern _Thread_local struct fake_context *play_in;

/* A call: what it is given, gives back and does. */
struct played {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId id;
    const char *name; /* as the recording has it */
    void *params;
    int result;
    const char *symbol;
    void (*within)(void *); /* before it returns; may be NULL */
    void *data;
};
#define PLAY_RUNTIME(call)                                                                     \
    .domain = CUPTI_CB_DOMAIN_RUNTIME_API, .id = CUPTI_RUNTIME_TRACE_CBID_##call
#define PLAY_DRIVER(call)                                                                      \
    .domain = CUPTI_CB_DOMAIN_DRIVER_API, .id = CUPTI_DRIVER_TRACE_CBID_##call

/* Makes the call, and returns its number, which is the outer one's for a call within another.
 * play_call() also expects its line. */
uint32_t play_call_alone(const struct played *call);
uint32_t play_call(const struct played *call);
uint32_t play_next_number(void); /* of the call to come */
uint32_t play_last_number(void); /* of this thread's latest one */

/* Tells of something that happens to a stream or to a graph's node. */
void play_resource(CUpti_CallbackId id, CUstream stream, void *about);

/* Puts an activity record into CUPTI's buffer; delivers what there is. */
void play_activity(const void *record, size_t bytes);
void play_deliver(void);

/* Asks for buffers until none is given, at most so many; gives all back empty. Returns how
 * many. */
int play_buffers(int most);

/* CUPTI drops that many records; the recorder's thread is held back, or no
 * longer. */
void play_lose(size_t records);
void play_hold(bool back);

/* The thread's own stream is captured, or no longer. */
void play_capture_own(bool captured);

/* Whatever asks CUPTI for a stream's number is interrupted by that. */
void play_interrupt(void (*by)(void));

/* Expects a line. A thread's lines are kept until it says so: no lock orders threads that the
 * recorder has to order itself. */
__attribute__((format(printf, 1, 2))) void expect(const char *format, ...);
void expect_keep(void);

/* Waits until the recording's file has the line of call `number`. */
void play_await(uint32_t number);

/* --- calls that are often made --- */

CUstream play_stream(struct fake_stream *stream); /* expects its line, too */
void play_stream_gone(struct fake_stream *stream);
uint32_t play_copy(CUstream stream, uint64_t to, uint64_t from, size_t bytes, bool own);
uint32_t play_launch(CUstream stream, const char *name, struct fake_function *function,
                     void **args, const char *words);
uint32_t play_malloc(uint64_t address, size_t bytes);
uint32_t play_free(uint64_t address);
uint32_t play_sync(void);
void play_expect_start(void); /* the lines of the device, the context, the legacy stream */

#endif
