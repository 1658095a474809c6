/* kernel_code.c - finds the code of a kernel. It stands apart from kernel.c because the library
 * and the lab page know kernels without their code. */
#include "kernels/kernel_file.h"

/* The rows' codes, in the order of kernel_table. */
static const struct kernel_code *const codes[] = {
#define KERNEL(launcher_name, code_name, ...) &code_name##_code,
#include "kernels/kernels.def"
#undef KERNEL
};

const struct kernel_code *kernel_code(const struct kernel *kernel)
{
    return kernel->code != NULL ? kernel->code : codes[kernel - kernel_table];
}

const char *kernel_missing(const struct kernel *kernel)
{
    const struct kernel_code *code = kernel_code(kernel);
    return code->host_missing != NULL ? code->host_missing() : NULL;
}
