/* launchers.c - finds the launcher of a kernel, in a program that was built with CUDA;
 * launchers_none.c stands in its place in all others. */
#include "kernels/kernel_file.h"

/* The rows' launchers, in the order of kernel_table. */
static const struct kernel_launcher *const launchers[] = {
#define KERNEL(launcher_name, code_name, ...) &launcher_name##_launcher,
#include "kernels/kernels.def"
#undef KERNEL
};

const struct kernel_launcher *kernel_launcher(const struct kernel *kernel)
{
    return kernel->code != NULL ? kernel->launcher : launchers[kernel - kernel_table];
}
