/* host.c - the host's memory that copies take from: what is known of it, and a hash of samples
 * of what a copy took. */
#include "core/compare.h"
#include "core/items.h"
#include "record/record.h"

#include <string.h>

/* How many words are looked at, both ends among them: all of a short piece, else a few, and one
 * more for each so many bytes. The words of a long piece come from memory, which takes as long
 * as a small copy does. */
enum { WORD = sizeof(uint64_t), WORDS_MOST = 34, WORDS_FEW = 10, WORDS_PER = 64 << 10 };

/* Memory that CUDA was told of. None overlaps another. */
struct range {
    uint64_t begin, end;
    bool readable;
};
static struct range *ranges;
static size_t range_count, range_room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* --- what is known --- */

/* Returns the place of the first range that ends behind the address. The lock is held. */
static size_t place_of(uint64_t address)
{
    BISECT(at, i, 0, range_count, ranges[i].end <= address);
    return at;
}

/* Takes out those from `place` on that begin below `end`. The lock is held. */
static void remove_below(size_t place, uint64_t end)
{
    size_t behind = place;
    while (behind < range_count && ranges[behind].begin < end)
        behind++;
    if (behind < range_count)
        memmove(&ranges[place], &ranges[behind], (range_count - behind) * sizeof *ranges);
    range_count -= behind - place;
}

void host_take(uint64_t address, uint64_t bytes, bool readable)
{
    record_lock(&lock);
    const size_t place = place_of(address);
    remove_below(place, address + bytes); /* given back in a way that nobody saw */
    if (ITEMS_ROOM(ranges, range_count, range_room)) {
        memmove(&ranges[place + 1], &ranges[place], (range_count - place) * sizeof *ranges);
        ranges[place] = (struct range){address, address + bytes, readable};
        range_count++;
    }
    record_unlock(&lock);
}

void host_give_back(uint64_t address)
{
    record_lock(&lock);
    const size_t place = place_of(address);
    if (place < range_count && ranges[place].begin == address)
        remove_below(place, address + 1);
    record_unlock(&lock);
}

/* Sets *found to the range of the address; false: there is none. */
static bool find(uint64_t address, struct range *found)
{
    record_lock(&lock);
    const size_t place = place_of(address);
    const bool is_known = place < range_count && ranges[place].begin <= address;
    if (is_known)
        *found = ranges[place];
    record_unlock(&lock);
    return is_known;
}

/* Returns true if a copy, which CUDA has just taken, is from memory that may be read here: what
 * is pinned, as far as that is known, or what the driver does not know, which is pageable. A
 * device's memory would not be there, managed memory would move, and write-combined memory and
 * that of other devices is slow to read, or changes when it is. */
static bool is_readable(uint64_t from, uint64_t bytes)
{
    unsigned kind;
    struct range range;
    if (find(from, &range))
        return range.readable && bytes <= range.end - from;
    return record_api.pointer_attribute != NULL &&
           record_api.pointer_attribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, from) ==
               CUDA_ERROR_INVALID_VALUE;
}

/* --- the hash --- */

/* A step that depends on no other one: the words come from memory at the same time. */
static uint64_t mix(uint64_t word, uint64_t index)
{
    word = (word ^ (index + 1) * UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xD6E8FEB86659FD93);
    return (word ^ word >> 32) * UINT64_C(0xD6E8FEB86659FD93);
}

static uint64_t hash_row(const char *row, uint64_t bytes, uint64_t words)
{
    uint64_t sum = bytes, word = 0;
    if (bytes < WORD) {
        memcpy(&word, row, bytes);
        return sum + mix(word, 0);
    }
    const uint64_t last = bytes - WORD, step = words > 1 ? last / (words - 1) : 0;
    for (uint64_t i = 0; i + 1 < words; i++) {
        memcpy(&word, row + i * step, WORD);
        sum += mix(word, i);
    }
    memcpy(&word, row + last, WORD);
    return sum + mix(word, words);
}

static uint64_t words_of(uint64_t bytes)
{
    const uint64_t all = (bytes + WORD - 1) / WORD, some = WORDS_FEW + bytes / WORDS_PER;
    return all <= WORDS_MOST ? all : some < WORDS_MOST ? some : WORDS_MOST;
}

uint32_t host_hash(uint64_t from, uint64_t pitch, uint64_t width, uint64_t rows)
{
    if (width == 0 || rows == 0 || !is_readable(from, (rows - 1) * pitch + width))
        return 0;
    const uint64_t words = words_of(width), looked_at = rows < WORDS_MOST ? rows : WORDS_MOST;
    const uint64_t most = WORDS_MOST / looked_at;
    uint64_t sum = rows;
    for (uint64_t i = 0; i < looked_at; i++) {
        const uint64_t row = looked_at > 1 ? i * (rows - 1) / (looked_at - 1) : 0;
        const char *begin = (const char *)(uintptr_t)(from + row * pitch);
        sum = mix(sum, i) + hash_row(begin, width, words < most ? words : most);
    }
    const uint32_t hash = (uint32_t)(sum ^ sum >> 32);
    return hash != 0 ? hash : 1;
}
