/* nvToolsExt.h - where programs from before NVTX 3 look for it. */
#include <nvtx3/nvToolsExt.h>
