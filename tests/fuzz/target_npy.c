/* target_npy.c - libFuzzer's way to fuzz_npy(). */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_npy(data, size);
    return 0;
}
