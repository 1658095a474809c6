/* target_recording.c - libFuzzer's way to fuzz_recording(). */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_recording(data, size);
    return 0;
}
