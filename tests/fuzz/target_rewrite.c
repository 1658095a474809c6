/* target_rewrite.c - libFuzzer's way to fuzz_rewrite(). */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_rewrite(data, size);
    return 0;
}
