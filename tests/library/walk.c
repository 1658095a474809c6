/* walk.c - all that the library tells of one run, in the command's own CSV form, for a comparison.
 *
 *     walk OPTION=VALUE ...      machine=NAME chooses the machine */
#include "pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print(const struct pipeline *run)
{
    struct pipeline_span span;
    struct pipeline_verdict verdict;
    printf("time %" PRId64 " limit %" PRId64 "\n", pipeline_time_ns(run),
           pipeline_limit_ns(run));
    for (size_t i = 0; pipeline_span(run, i, &span); i++)
        printf("%" PRIu32 ",%s,%" PRId32 ",%" PRIu32 ",%s,%" PRIu32 ",%" PRIu64 ",%" PRId64
               ",%" PRId64 ",%" PRId64 "\n",
               span.op, span.kind, span.tile, span.stream, span.engine, span.lane, span.bytes,
               span.issue_ns, span.start_ns, span.end_ns);
    for (size_t i = 0; pipeline_verdict(run, i, &verdict); i++)
        printf("%s %" PRId64 " %s\n", verdict.code, verdict.ns,
               verdict.named ? "named" : "not named");
}

int main(int argc, char *argv[])
{
    struct pipeline_error error = {.text = "no memory"};
    struct pipeline *run = pipeline_new();
    bool good = run != NULL;
    for (int i = 1; i < argc && good; i++) {
        char *value = strchr(argv[i], '=');
        if (value == NULL)
            return 2;
        *value++ = '\0';
        good = strcmp(argv[i], "machine") == 0 ? pipeline_set_machine(run, value, &error)
                                               : pipeline_set(run, argv[i], value, &error);
    }
    good = good && pipeline_simulate(run, &error);
    if (good)
        print(run);
    else
        fprintf(stderr, "%s\n", error.text);
    pipeline_free(run);
    return good ? 0 : 1;
}
