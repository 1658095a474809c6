/* json_memory.h - jansson, where memory runs out. Its decoder then loses characters, takes what
 * is left for malformed, or writes beyond a block; its builders leave values out. */
#ifndef PIPELINE_TRACE_JSON_MEMORY_H
#define PIPELINE_TRACE_JSON_MEMORY_H

#include <jansson.h>
#include <stdbool.h>

/* Does what json_loadb() does, but gives up at the first allocation that fails: returns NULL
 * then, and sets *starved. */
json_t *json_memory_load(const char *text, size_t length, size_t flags, json_error_t *why,
                         bool *starved);

/* Begins to watch jansson's allocations in this thread. */
void json_memory_watch(void);

/* Returns true if one has failed since: what was built is then not whole. */
bool json_memory_failed(void);

#endif
