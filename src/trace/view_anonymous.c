/* view_anonymous.c - `pipeline view --anonymous`. It stands apart from view.c, which reads
 * files and asks nothing about what is in their names. */
#include "trace/view_parts.h"

#include "core/anonymous.h"
#include "trace/recording.h"

#include <stdio.h>
#include <string.h>

const char *view_anonymise(struct traces *traces, int number, char name[VIEW_ANONYMOUS_NAME])
{
    for (int i = 0; i < traces->count; i++) {
        struct timeline *timeline = &traces->items[i].timeline;
        for (uint32_t kernel = 0; kernel < timeline->name_count; kernel++)
            anonymous_cut_kernel((char *)timeline->names[kernel]);
        for (uint32_t line = 0; line < timeline->line_count; line++)
            timeline->lines[line] = anonymous_file(timeline->lines[line]);
    }
    struct recording *recording = traces->recording;
    for (size_t i = 0; recording != NULL && i < recording->name_count; i++)
        anonymous_cut_kernel(recording->names[i]);
    for (size_t i = 0; recording != NULL && i < recording->line_count; i++)
        anonymous_cut_file(recording->lines[i].text);
    strcpy(name, ANONYMOUS_PROGRAM);
    if (number > 0)
        snprintf(name, VIEW_ANONYMOUS_NAME, ANONYMOUS_PROGRAM " %d", number);
    return name;
}
