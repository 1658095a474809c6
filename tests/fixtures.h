/* fixtures.h - what several suites build their cases from. */
#ifndef PIPELINE_TESTS_FIXTURES_H
#define PIPELINE_TESTS_FIXTURES_H

#include "machine/machine.h"
#include "options/options.h"
#include "plan/build.h"
#include "plan/hazard.h"
#include "plan/mistake.h"

#include <check.h>

/* How many of `all` generated cases a test tries: with PIPELINE_TESTS=few, as `make test` has
 * it, a quarter; with quick, for slow tools such as valgrind, fewer yet; with deep many more.
 */
int test_cases(int all);

/* xorshift64*: small, seeded, the same everywhere. `state` may not be 0. */
uint64_t test_random(uint64_t *state);
uint32_t test_random_below(uint64_t *state, uint32_t below);

/* Fails the test, saying why, unless `status` is STATUS_OK. */
void test_must(enum status status, const struct error *error);

/* Settings with every default, for `kernels` such as "scale,sum". */
struct settings test_settings(const char *kernels);

/* Settings drawn for `kernels`: up to `tiles` tiles, some of them unequal, up to 12 streams,
 * every order and layout, 1 to `ways` ways (4 ways leave the CPU's share open), with callbacks
 * or without, and a seed. */
struct settings test_random_settings(uint64_t *random, const char *kernels, uint32_t tiles,
                                     int ways);

/* How many mistakes the table has, and the index of one that it must have. */
int test_mistake_count(void);
int test_mistake(const char *name);

/* A machine whose times can be computed in the head: every copy moves 1 byte per ns in its
 * direction however busy the other is; a kernel that fills its 8 block slots does 1 flop per ns
 * and memory is no bound; everything else costs nothing. */
struct machine test_machine(void);

/* Returns the machine that is called so. */
struct machine test_machine_named(const char *name);

/* Returns the plan of the settings, which are to have one, on test_machine() or another
 * machine. plan_free() it. */
struct plan test_built(const struct settings *settings);
struct plan test_built_on(const struct settings *settings, const struct machine *machine);

/* Returns the nth op of a kind, from 0 on. There is one. */
struct op *test_nth_op(struct plan *plan, enum op_kind kind, int nth);

/* Returns the first op of a kind that works on `tile`. There is one. */
struct op *test_op_of_tile(struct plan *plan, enum op_kind kind, int32_t tile);

/* Whether both ops touch some byte that one of them writes. */
bool test_ops_touch(const struct op *a, const struct op *b);

/* Makes a wait one for nothing: it becomes the record of an event that nothing waits for. */
void test_drop_wait(struct plan *plan, uint32_t op);

/* Returns how many pairs of the plan's ops race. */
size_t test_hazard_count(const struct plan *plan);

/* Fails the test unless plan_validate() refuses the plan in these words, or some more. */
void test_plan_refused(const struct plan *plan, const char *words);

/* Builds a plan by hand. Each append asserts that it worked and returns the op's id. Copies
 * move `bytes` at the given offset of in0 (h2d) or out (d2h); kernels work on in0 -> out. */
struct plan test_plan(uint32_t streams, uint32_t events, uint32_t tiles, uint64_t elements);
uint32_t test_h2d(struct plan *plan, uint32_t stream, uint32_t tile, uint64_t offset,
                  uint64_t bytes);
uint32_t test_d2h(struct plan *plan, uint32_t stream, uint32_t tile, uint64_t offset,
                  uint64_t bytes);
struct op_ranges *test_ranges(struct plan *plan); /* plan_take_ranges() */
uint32_t test_kernel(struct plan *plan, uint32_t stream, uint32_t tile, uint64_t first,
                     uint64_t count, uint32_t blocks);
uint32_t test_record(struct plan *plan, uint32_t stream, uint32_t event);
uint32_t test_wait(struct plan *plan, uint32_t stream, uint32_t event);

/* From in0 to out on the device; bytes of out; the host's wait for a stream or, plan.streams,
 * the device; memory taken and given back. */
uint32_t test_d2d(struct plan *plan, uint32_t stream, uint64_t offset, uint64_t bytes);
uint32_t test_memset(struct plan *plan, uint32_t stream, uint64_t offset, uint64_t bytes,
                     uint8_t value);
uint32_t test_sync(struct plan *plan, uint32_t stream);
uint32_t test_alloc(struct plan *plan, uint64_t bytes, bool pinned);

/* Gives the plan's streams these kinds, one each. */
void test_stream_kinds(struct plan *plan, const enum stream_kind *kinds);

#endif
