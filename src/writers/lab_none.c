/* lab_none.c - stands for the lab page's texts where there was no compiler for WebAssembly. */
#include "core/embedded.h"

const struct embedded lab_texts[] = {{NULL, NULL}};
