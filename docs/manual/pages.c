/* pages.c - `print-pages PREFIX` copies a template from standard input to standard output and
 * fills its places from the program's tables. */
#include "pages.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 31 };

static const struct page_place *place_find(const char *name)
{
    static const struct page_place *const lists[] = {
        manual_places, bash_places, zsh_places, fish_places, markdown_places, plot_places};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (const struct page_place *place = lists[i]; place->name != NULL; place++) {
            if (strcmp(place->name, name) == 0)
                return place;
        }
    }
    return NULL;
}

/* Fills the place that begins behind an '@'. Returns false if there is none of that name.
 * Anything else that begins with '@' is copied. */
static bool fill_place(FILE *in, FILE *out)
{
    char name[NAME_MAX_LENGTH + 1];
    int length = 0, c;
    while ((c = getc(in)) != EOF && ((c >= 'a' && c <= 'z') || c == '-') &&
           length < NAME_MAX_LENGTH)
        name[length++] = (char)c;
    name[length] = '\0';
    if (c != '@' || length == 0) {
        fprintf(out, "@%s", name);
        ungetc(c, in);
        return true;
    }
    const struct page_place *place = place_find(name);
    if (place == NULL) {
        fprintf(stderr, "print-pages: a template has no place called @%s@\n", name);
        return false;
    }
    place->print(out);
    if (place->block && (c = getc(in)) != '\n')
        ungetc(c, in);
    return true;
}

static bool fill(FILE *in, FILE *out)
{
    for (int c; (c = getc(in)) != EOF;) {
        if (c != '@')
            putc(c, out);
        else if (!fill_place(in, out))
            return false;
    }
    return !ferror(in);
}

int main(int argc, char *argv[])
{
    if (argc != 2) {
        fputs("usage: print-pages PREFIX <TEMPLATE\n", stderr);
        return 2;
    }
    page_prefix = argv[1];
    bool filled = fill(stdin, stdout);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("print-pages");
        return EXIT_FAILURE;
    }
    return filled ? EXIT_SUCCESS : EXIT_FAILURE;
}
