/* template.h - texts with places to be filled, and parts that are there or not.
 *
 * A template reads like what is made of it. In a line
 *
 *   @NAME@                     gives way to the value of that name
 *   @if WHAT@..@else@..@end@   stays where WHAT holds, or where it does not
 *   @\                         at a line's end: the next one goes on, without its indent
 *
 * A line that is nothing but "@NAME@", perhaps indented, gives way to the part of that name.
 * Lines between "#if WHAT", "#elif WHAT", "#else" and "#endif" are there or not, as in C. WHAT
 * is names with "!", "&&" and "||", without parentheses. What names nobody knows stays as it
 * is: it is the text's own, such as another "#if". */
#ifndef PIPELINE_CORE_TEMPLATE_H
#define PIPELINE_CORE_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a name, and of a line with its values. */
enum { TEMPLATE_NAME = 256, TEMPLATE_LINE = 4096 };

/* What fills a template; `context` is handed to each. `holds` and `value` may be NULL: then a
 * template has parts alone. */
struct template_fill {
    void *context;
    /* Returns 1 if the condition holds, 0 if not, and -1 if there is none of that name. */
    int (*holds)(void *context, const char *name);
    /* Returns a value, for as long as the next call, or NULL if there is none of that name. */
    const char *(*value)(void *context, const char *name);
    /* Writes a part, indented by `indent`; returns false if there is none of that name. */
    bool (*part)(void *context, const char *name, int indent);
    /* Writes `length` bytes: a line, of which the last one may be without its end. */
    void (*line)(void *context, const char *text, size_t length);
};

/* Fills the template of `length` bytes. A line that is too long is cut off. */
void template_fill(const char *text, size_t length, const struct template_fill *fill);

#endif
