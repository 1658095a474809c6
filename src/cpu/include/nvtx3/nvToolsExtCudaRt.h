/* nvToolsExtCudaRt.h - names of streams, which are part of nvToolsExt.h here. */
#include "nvToolsExt.h"
