/* anonymous.h - names that a file which is handed on is to leave out (--anonymous): this is the
 * one place that says what is left of them. */
#ifndef PIPELINE_CORE_ANONYMOUS_H
#define PIPELINE_CORE_ANONYMOUS_H

/* A recorded program is called this, because its own name may tell what its owner works on. */
#define ANONYMOUS_PROGRAM "program"

/* Returns what is left of a file's path, which is within it: the file's own name. */
const char *anonymous_file(const char *path);

/* Cuts that out of a path. */
void anonymous_cut_file(char *path);

/* Cuts the template arguments out of a kernel's name: of "void scale<float>(float*)" is left
 * "void scale(float*)", and of a name that is mangled the function's own one. */
void anonymous_cut_kernel(char *name);

#endif
