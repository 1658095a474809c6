/* view_fixes.c - what the causes of another program's run rest on, and how to mend them there:
 * in CUDA's calls, for the options of this program are none of that one's. */
#include "writers/view.h"

#include <stdio.h>

void view_put_fixes(FILE *out, const struct run_report *run, const struct writer_style *style)
{
    const struct verdicts *verdicts = &run->verdicts;
    if (verdicts->named == 0)
        return;
    fputs("\nwhat the causes below rest on, and what to change in the program\n", out);
    for (int i = 0; i < verdicts->named; i++) {
        const struct verdict *verdict = &verdicts->items[i];
        const struct verdict_row *row = &verdict_rows[verdict->code];
        bool known = verdict->evidence != EVIDENCE_UNKNOWN;
        char line[4 * VERDICT_SEEN], clean[4 * VERDICT_SEEN];
        snprintf(line, sizeof line, "- %s%s%s%s: %s", row->name, known ? " (" : "",
                 known ? evidence_name(verdict->evidence) : "", known ? ")" : "",
                 verdict->seen);
        writer_put_words(out, style->width, 2, writer_clean(clean, sizeof clean, line, true));
        if (row->cuda[0] != '\0')
            writer_print_words(out, style->width, 4, "  %s", row->cuda);
    }
}
