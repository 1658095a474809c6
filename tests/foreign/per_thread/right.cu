// The same program, compiled with --default-stream per-thread.
#include "wrong.cu"
