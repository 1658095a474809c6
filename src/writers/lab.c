/* lab.c - the lab page: the viewer of plots/ with what src/lab/ adds to it. */
#include "core/embedded.h"
#include "writers/template.h"
#include "writers/writer.h"

enum { PARTS_MAX = 16 };

enum status write_lab(FILE *out)
{
    struct put put;
    struct template_part parts[PARTS_MAX + 1] = {{.name = NULL}};
    for (int i = 0; i < PARTS_MAX && lab_texts[i].name != NULL; i++) {
        parts[i].name = lab_texts[i].name;
        parts[i].text = lab_texts[i].text;
    }
    put_begin_large(&put, out);
    template_put(&put, embedded_find(lab_texts, "lab.html"), parts);
    return put_end(&put);
}
