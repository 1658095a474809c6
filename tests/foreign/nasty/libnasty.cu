/* libnasty.so - a library with a CUDA runtime of its own that comes and goes, and one that CUDA is told
 * to load by CUDA_INJECTION64_PATH. */
#include "nasty.h"

extern "C" __attribute__((visibility("default"))) long long library_work(int times)
{
    long long sum = work(times);
    start(1);
    return sum;
}

extern "C" __attribute__((visibility("default"))) int InitializeInjection(void)
{
    printf("a library of the program's own was loaded\n");
    return 1;
}
