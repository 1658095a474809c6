/* template.h - pages that are put together from the texts of plots/ and from what is written.
 */
#ifndef PIPELINE_WRITERS_TEMPLATE_H
#define PIPELINE_WRITERS_TEMPLATE_H

#include "writers/put.h"

/* A part of a page that is no file of plots/: a text, or what `write` puts there, which is then
 * given `context`. The text and the context are the caller's; one of `text` and `write` is
 * NULL. */
struct template_part {
    const char *name, *text;
    void (*write)(struct put *put, const void *context);
    const void *context;
};

/* Puts `text`, in which a line that is nothing but "@NAME@" gives way to the part of that name
 * in `parts`, which ends with a row without a name, or else to the file NAME of plots/, or, if
 * the name is "colors", to rules with the colours of the kinds of ops. Texts that are put so
 * may have such lines, too; what a function writes is left alone. A name that nobody knows
 * stays as it is. */
void template_put(struct put *put, const char *text, const struct template_part *parts);

#endif
