/* test_emit_tape.h - the recording of an emitted program, as a line for each of its calls.
 */
#ifndef PIPELINE_TESTS_TEST_EMIT_TAPE_H
#define PIPELINE_TESTS_TEST_EMIT_TAPE_H

#include <stdbool.h>

enum { EMIT_CALLS_MAX = 1 << 16, CALL_TEXT = 64, EMIT_NODES_MAX = 1 << 10 };

/* The calls that tiles.jsonl has of what the program did: kind, number of the stream among
 * those that it made, and bytes of a copy or, of a wait, the line of the record that it is for.
 * What a capture took up has no stream. */
extern char emit_calls[EMIT_CALLS_MAX][CALL_TEXT];
extern int emit_call_count;

/* By node of the captured graph, in the order in which they were made: those that are done
 * before it. */
extern bool emit_before[EMIT_NODES_MAX][EMIT_NODES_MAX];
extern int emit_node_count;

void emit_read_calls(void);

#endif
