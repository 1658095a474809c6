/* kernel_file.h - for the files that hold the code of kernels: the names that the rows of
 * kernels.def expect from them.
 *
 * Such a file is compiled twice. nvcc, or the C++ compiler for the tests without a GPU,
 * takes the kernels and their launchers, which are under #ifdef __cplusplus; the C compiler
 * takes the CPU twins and the oracles, which are under #else. */
#ifndef PIPELINE_KERNEL_FILE_H
#define PIPELINE_KERNEL_FILE_H

#include "kernels/kernel_code.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KERNEL(launcher_name, code_name, ...)                                                  \
    extern const struct kernel_launcher launcher_name##_launcher;                              \
    extern const struct kernel_code code_name##_code;
#include "kernels/kernels.def"
#undef KERNEL

#ifdef __cplusplus
}
#endif

#endif
