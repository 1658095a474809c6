/* scan.h - CUDA has the scans of groups here. */
#include <cooperative_groups/reduce.h>
