/* launchers_none.c - finds no launcher: it stands in the place of launchers.c in a program that
 * was built without CUDA. */
#include "kernels/kernel_code.h"

const struct kernel_launcher *kernel_launcher(const struct kernel *kernel)
{
    return kernel->launcher;
}
