/* c_locale.h - numbers are read and written with a point, whatever else the process does.
 *
 * setlocale() is the whole process's: a library that is opened, or the program that uses ours,
 * may have chosen a locale whose numbers have commas, and may do so at any time. A thread that
 * has a locale of its own does not see that. */
#ifndef PIPELINE_CORE_C_LOCALE_H
#define PIPELINE_CORE_C_LOCALE_H

#include <locale.h>

/* Gives the calling thread the locale "C", which a page, where nobody else is, never left.
 * Threads begin with the process's: each that reads or writes numbers calls this first, and
 * again behind code of others, which may choose one for the thread. Returns the thread's locale
 * before, for uselocale(). */
static inline locale_t c_locale_enter(void)
{
#ifdef __wasi__
    return (locale_t)0;
#else
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0)); /* takes no memory */
#endif
}

#endif
