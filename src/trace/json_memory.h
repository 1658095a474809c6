/* json_memory.h - jansson, where memory runs out. Its decoder then loses characters, takes what
 * is left for malformed, or writes beyond a block; its builders leave values out. */
#ifndef PIPELINE_TRACE_JSON_MEMORY_H
#define PIPELINE_TRACE_JSON_MEMORY_H

#include <jansson.h>
#include <stdbool.h>

/* Does what json_loadb() does, but gives up at the first allocation that fails: returns NULL
 * then, and sets *starved. The value is whole until the next load or json_memory_free(), which
 * give it back; json_decref() does not. One load at a time in a process, whose allocations by
 * jansson all go through this one meanwhile. */
json_t *json_memory_load(const char *text, size_t length, size_t flags, json_error_t *why,
                         bool *starved);

/* Gives back the value of the latest load, if any. */
void json_memory_free(void);

/* Begins to watch jansson's allocations, in all threads of the process. */
void json_memory_watch(void);

/* Returns true if one has failed since: what was built is then not whole. */
bool json_memory_failed(void);

#endif
