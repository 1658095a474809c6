/* watch.c - see watch.h: the calls that -fsanitize=thread makes of each access. Of host threads
 * they cost next to nothing. Atomics are also done here, since that compiler leaves it to them.
 */
#include "cpu/watch.h"

#include <stdatomic.h>
#include <string.h>

__thread struct watch_lane *watch_lane;

#define HERE ((uintptr_t)__builtin_return_address(0))

static inline void mark(uint64_t *map, uint64_t offset, uint32_t bytes)
{
    const uint64_t bits = ~(~UINT64_C(0) << bytes);
    const unsigned shift = (unsigned)(offset % 64);
    uint64_t *word = map + offset / 64;
    word[0] |= bits << shift;
    if (shift + bytes > 64)
        word[1] |= bits >> (64 - shift);
}

static void note_host(uintptr_t at, uint32_t bytes, enum watch_kind kind, uintptr_t code)
{
    const bool polls = kind == (WATCH_READS | WATCH_ATOMIC);
    cpu_watched.accesses++;
    if (cpu_host_touched != NULL)
        cpu_host_touched(at, bytes, (kind & WATCH_WRITES) != 0,
                         polls ? NULL : (const void *)code);
}

/* An access of up to 16 bytes. It is inlined, so that how many is a constant. */
__attribute__((always_inline)) static inline void note(uintptr_t at, uint32_t bytes,
                                                       enum watch_kind kind, uintptr_t code)
{
    struct watch_lane *lane = watch_lane;
    if (__builtin_expect(lane == NULL, false)) {
        note_host(at, bytes, kind, code);
        return;
    }
    struct watch_site *site = &watch_sites[(code ^ code >> 12) % WATCH_SITES];
    if (site->code != code)
        site = watch_find(code, bytes, kind);
    const uint64_t offset = at - site->from;
    if (offset >= site->bytes || site->bytes - offset < bytes) {
        watch_other(lane, site, at, bytes);
        return;
    }
    site->count++;
    site->low = offset < site->low ? offset : site->low;
    site->high = offset + bytes > site->high ? offset + bytes : site->high;
    mark(site->map, offset, bytes);
    if (lane->log != NULL)
        watch_keep(lane, site, at, bytes);
}

/* An access of any size, as if in pieces. */
static void note_range(uintptr_t at, uint64_t bytes, enum watch_kind kind, uintptr_t code)
{
    enum { PIECE = 16 };
    if (watch_lane == NULL) {
        if (cpu_host_touched != NULL && bytes > 0)
            cpu_host_touched(at, bytes, (kind & WATCH_WRITES) != 0, (const void *)code);
        return;
    }
    for (; bytes >= PIECE; bytes -= PIECE, at += PIECE)
        note(at, PIECE, kind, code);
    if (bytes > 0) /* pieces of another size are another site's */
        note(at, (uint32_t)bytes, kind, code | (uintptr_t)bytes << WATCH_TAG);
}

/* One who reads a volatile again and again waits for it. */
static void note_volatile(uintptr_t at, uint32_t bytes, enum watch_kind kind, uintptr_t code)
{
    note(at, bytes, watch_lane == NULL ? kind | WATCH_ATOMIC : kind, code);
    if (watch_lane == NULL)
        return;
    const bool again = watch_lane->last_volatile == at && (kind & WATCH_READS) != 0;
    watch_lane->last_volatile = at;
    pipeline_pause(!again);
}

/* An atomic that orders what is around it, as locks have it. */
static void note_atomic(uintptr_t at, uint32_t bytes, unsigned kind, int order, uintptr_t code)
{
    if (watch_lane != NULL && order != memory_order_relaxed)
        watch_lane->trusted = watch_lane->block->epoch;
    if ((kind & WATCH_READS) != 0)
        note(at, bytes, WATCH_READS | WATCH_ATOMIC, code);
    if ((kind & WATCH_WRITES) != 0)
        note(at, bytes, WATCH_WRITES | WATCH_ATOMIC, code + 1);
}

void pipeline_fence(void)
{
    if (watch_lane != NULL)
        watch_lane->trusted = watch_lane->block->epoch;
    pipeline_pause(false);
}

/* --- the compiler's calls --- */

#define ACCESS(name, bytes, how, kind)                                                         \
    void __tsan_##name##bytes(void *at);                                                       \
    void __tsan_##name##bytes(void *at)                                                        \
    {                                                                                          \
        how((uintptr_t)at, bytes, kind, HERE);                                                 \
    }
#define ACCESSES(bytes)                                                                        \
    ACCESS(read, bytes, note, WATCH_READS)                                                     \
    ACCESS(write, bytes, note, WATCH_WRITES)                                                   \
    ACCESS(unaligned_read, bytes, note, WATCH_READS)                                           \
    ACCESS(unaligned_write, bytes, note, WATCH_WRITES)                                         \
    ACCESS(volatile_read, bytes, note_volatile, WATCH_READS)                                   \
    ACCESS(volatile_write, bytes, note_volatile, WATCH_WRITES)                                 \
    ACCESS(unaligned_volatile_read, bytes, note_volatile, WATCH_READS)                         \
    ACCESS(unaligned_volatile_write, bytes, note_volatile, WATCH_WRITES)
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

#define RANGE(name, kind)                                                                      \
    void __tsan_##name##_range(void *at, uint64_t bytes);                                      \
    void __tsan_##name##_range(void *at, uint64_t bytes)                                       \
    {                                                                                          \
        note_range((uintptr_t)at, bytes, kind, HERE);                                          \
    }
RANGE(read, WATCH_READS)
RANGE(write, WATCH_WRITES)

/* What newer compilers call for copies and fills; older ones call the C library, which is not
 * seen. */
#define COPIES(name, real)                                                                     \
    void *name(void *to, const void *from, size_t bytes);                                      \
    void *name(void *to, const void *from, size_t bytes)                                       \
    {                                                                                          \
        if (watch_lane != NULL || cpu_host_touched != NULL) {                                  \
            note_range((uintptr_t)from, bytes, WATCH_READS, HERE);                             \
            note_range((uintptr_t)to, bytes, WATCH_WRITES, HERE + 1);                          \
        }                                                                                      \
        return real(to, from, bytes);                                                          \
    }
#define FILLS(name, real)                                                                      \
    void *name(void *to, int byte, size_t bytes);                                              \
    void *name(void *to, int byte, size_t bytes)                                               \
    {                                                                                          \
        if (watch_lane != NULL || cpu_host_touched != NULL)                                    \
            note_range((uintptr_t)to, bytes, WATCH_WRITES, HERE);                              \
        return real(to, byte, bytes);                                                          \
    }
COPIES(__tsan_memcpy, memcpy)
COPIES(__tsan_memmove, memmove)
FILLS(__tsan_memset, memset)

#define NOTHING(name, ...)                                                                     \
    void __tsan_##name(__VA_ARGS__);                                                           \
    void __tsan_##name(__VA_ARGS__)                                                            \
    {                                                                                          \
    }
NOTHING(func_entry, void *at __attribute__((unused)))
NOTHING(func_exit, void)
NOTHING(vptr_update, void **at __attribute__((unused)), void *value __attribute__((unused)))
NOTHING(vptr_read, void **at __attribute__((unused)))

#define CHANGES(bits, name, operation)                                                         \
    uint##bits##_t __tsan_atomic##bits##_##name(uint##bits##_t *at, uint##bits##_t value,      \
                                                int order);                                    \
    uint##bits##_t __tsan_atomic##bits##_##name(uint##bits##_t *at, uint##bits##_t value,      \
                                                int order)                                     \
    {                                                                                          \
        note_atomic((uintptr_t)at, bits / 8, WATCH_READS | WATCH_WRITES, order, HERE);         \
        return operation((_Atomic uint##bits##_t *)at, value);                                 \
    }
#define EXCHANGES(bits, name)                                                                  \
    int __tsan_atomic##bits##_compare_exchange_##name(                                         \
        uint##bits##_t *at, uint##bits##_t *expected, uint##bits##_t value, int order, int);   \
    int __tsan_atomic##bits##_compare_exchange_##name(                                         \
        uint##bits##_t *at, uint##bits##_t *expected, uint##bits##_t value, int order,         \
        int failed __attribute__((unused)))                                                    \
    {                                                                                          \
        note_atomic((uintptr_t)at, bits / 8, WATCH_READS | WATCH_WRITES, order, HERE);         \
        return atomic_compare_exchange_strong((_Atomic uint##bits##_t *)at, expected, value);  \
    }
#define ATOMICS(bits)                                                                          \
    uint##bits##_t __tsan_atomic##bits##_load(uint##bits##_t *at, int order);                  \
    uint##bits##_t __tsan_atomic##bits##_load(uint##bits##_t *at, int order)                   \
    {                                                                                          \
        note_atomic((uintptr_t)at, bits / 8, WATCH_READS, order, HERE);                        \
        return atomic_load((_Atomic uint##bits##_t *)at);                                      \
    }                                                                                          \
    void __tsan_atomic##bits##_store(uint##bits##_t *at, uint##bits##_t value, int order);     \
    void __tsan_atomic##bits##_store(uint##bits##_t *at, uint##bits##_t value, int order)      \
    {                                                                                          \
        note_atomic((uintptr_t)at, bits / 8, WATCH_WRITES, order, HERE);                       \
        atomic_store((_Atomic uint##bits##_t *)at, value);                                     \
    }                                                                                          \
    CHANGES(bits, exchange, atomic_exchange)                                                   \
    CHANGES(bits, fetch_add, atomic_fetch_add)                                                 \
    CHANGES(bits, fetch_sub, atomic_fetch_sub)                                                 \
    CHANGES(bits, fetch_and, atomic_fetch_and)                                                 \
    CHANGES(bits, fetch_or, atomic_fetch_or)                                                   \
    CHANGES(bits, fetch_xor, atomic_fetch_xor)                                                 \
    EXCHANGES(bits, strong)                                                                    \
    EXCHANGES(bits, weak)                                                                      \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                 \
        uint##bits##_t *at, uint##bits##_t expected, uint##bits##_t value, int order, int);    \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                 \
        uint##bits##_t *at, uint##bits##_t expected, uint##bits##_t value, int order,          \
        int failed __attribute__((unused)))                                                    \
    {                                                                                          \
        note_atomic((uintptr_t)at, bits / 8, WATCH_READS | WATCH_WRITES, order, HERE);         \
        atomic_compare_exchange_strong((_Atomic uint##bits##_t *)at, &expected, value);        \
        return expected;                                                                       \
    }
ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    atomic_thread_fence(memory_order_seq_cst);
    if (watch_lane != NULL)
        pipeline_fence();
}
NOTHING(atomic_signal_fence, int order __attribute__((unused)))
