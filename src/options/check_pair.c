/* check_pair.c - what the checks share: refusing settings that do not go together, in words,
 * and what is told later. */
#include "options/check.h"

const char *check_label(const struct judged *run, enum option_id id, char text[LABEL_MAX])
{
    return setting_label(run->settings, run->origins, id, text);
}

enum status check_refuse_pair(const struct judged *run, enum option_id one, const char *between,
                              enum option_id other, const char *rest)
{
    char text[LABEL_MAX], other_text[LABEL_MAX];
    return error_set(run->error, STATUS_USAGE, "%s %s %s%s", check_label(run, one, text),
                     between, check_label(run, other, other_text), rest);
}

bool check_elements_are_open(const struct judged *run)
{
    return run->origins != NULL && run->settings->input != NULL &&
           !run->settings->elements_given;
}
