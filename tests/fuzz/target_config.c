/* target_config.c - libFuzzer's way to fuzz_config(). */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_config(data, size);
    return 0;
}
