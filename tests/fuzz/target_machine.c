/* target_machine.c - libFuzzer's way to fuzz_machine(). */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most); /* libFuzzer's own */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_machine(data, size);
    return 0;
}

/* A file with a byte changed anywhere is mostly refused, so mostly another figure takes the
 * place of one that is there. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    size_t changed = 0;
    if (seed % 8 != 0)
        changed = fuzz_machine_figure(data, size, most, seed / 8 % (size + 1), seed / 7);
    return changed > 0 ? changed : LLVMFuzzerMutate(data, size, most);
}
