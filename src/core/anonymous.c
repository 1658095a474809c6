/* anonymous.c - see anonymous.h. */
#include "core/anonymous.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *anonymous_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

void anonymous_cut_file(char *path)
{
    const char *file = anonymous_file(path);
    if (file != path)
        memmove(path, file, strlen(file) + 1);
}

/* Cuts all but the last name before the arguments: of "_ZN2my5scaleIfEvPf" is left "scale". */
static void cut_mangled(char *name)
{
    const char *at = name + 2, *last = name;
    size_t length = 2, left = strlen(at);
    /* N and K are of nested names, L of local ones, and St is std. */
    while (*at == 'N' || *at == 'K' || *at == 'L' || strncmp(at, "St", 2) == 0) {
        const size_t skipped = *at == 'S' ? 2 : 1;
        at += skipped;
        left -= skipped;
    }
    while (isdigit((unsigned char)*at)) {
        char *text;
        const unsigned long count = strtoul(at, &text, 10);
        left -= (size_t)(text - at);
        if (count > left)
            break;
        last = text;
        length = count;
        at = text + count;
        left -= count;
    }
    memmove(name, last, length);
    name[length] = '\0';
}

/* Returns true for a sign of an operator's: that of "operator<", or the arrow's. */
static bool is_operator(const char *name, const char *at)
{
    static const char word[] = "operator";
    const size_t length = strlen(word);
    const char *first = at;
    while (first > name && strchr("<>-=", first[-1]) != NULL)
        first--;
    return (at > name && *at == '>' && at[-1] == '-') ||
           ((size_t)(first - name) >= length && strncmp(first - length, word, length) == 0);
}

void anonymous_cut_kernel(char *name)
{
    int depth = 0, inner = 0; /* brackets that are open; parentheses among arguments */
    char *to = name;
    if (strncmp(name, "_Z", 2) == 0) {
        cut_mangled(name);
        return;
    }
    if (strchr(name, '<') == NULL) /* it may be a constant */
        return;
    char *whole = strdup(name);
    for (const char *from = whole; from != NULL && *from != '\0'; from++) {
        const bool sign = inner == 0 && !is_operator(whole, from);
        if (*from == '<' && sign)
            depth++;
        else if (*from == '>' && sign && depth > 0)
            depth--;
        else if (depth == 0)
            *to++ = *from;
        else if (*from == '(' || *from == ')')
            inner += *from == '(' ? 1 : -1;
    }
    *to = '\0';
    free(whole);
}
