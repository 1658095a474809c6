/* example.c - one run on a simulated GPU, and the first reason why it took longer than it must.
 *
 *     cc docs/example.c -Isrc/lib build/libpipeline.a -lm -o example
 *     ./example streams=1 tiles=32 kernel=scale,sum
 *
 * Each argument is an option of `pipeline`; machine=a100 chooses a GPU. */
#include "pipeline.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char *argv[])
{
    struct pipeline_error error;
    struct pipeline *run = pipeline_new();
    bool good = run != NULL;
    strcpy(error.text, "no memory");
    for (int i = 1; i < argc && good; i++) {
        char *value = strchr(argv[i], '=');
        if (value == NULL) {
            fprintf(stderr, "usage: example OPTION=VALUE ...\n");
            return 2;
        }
        *value++ = 0;
        good = strcmp(argv[i], "machine") == 0 ? pipeline_set_machine(run, value, &error)
                                               : pipeline_set(run, argv[i], value, &error);
    }
    good = good && pipeline_simulate(run, &error);
    if (good) {
        struct pipeline_verdict first;
        printf("time %.3f ms, limit %.3f ms\n", (double)pipeline_time_ns(run) / 1e6,
               (double)pipeline_limit_ns(run) / 1e6);
        if (pipeline_verdict(run, 0, &first))
            printf("%s cost %.3f ms: %s\n  %s\n", first.code, (double)first.ns / 1e6, first.text,
                   first.fix != NULL ? first.fix : "");
    } else {
        fprintf(stderr, "example: %s\n", error.text);
    }
    pipeline_free(run);
    return good ? 0 : 1;
}
