/* player.c - a program that uses CUDA, so to say: it plays one script, and behaves by itself as
 * it would if nobody took anything down.
 *
 *     player SCRIPT
 *
 * PLAYER_RANGE names an NVTX range that is open when CUDA is first used, and PLAYER_CONNECTIONS
 * what the program sets CUDA_DEVICE_MAX_CONNECTIONS to before that. PLAYER_EXPECT names the
 * file for the lines that a recording must have. */
#include "player.h"
#include "play.h"

#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A range that begins before CUDA is used, and one of the same name that is over by then. */
static void begin_range(void)
{
    const char *range = getenv("PLAYER_RANGE");
    if (range == NULL)
        return;
    nvtxRangePushA(range);
    nvtxRangePop();
    nvtxRangePushA(range);
}

/* CUDA reads the environment when it is first used: what is set behind that is too late. */
static void begin_cuda(void)
{
    const char *connections = getenv("PLAYER_CONNECTIONS");
    if (connections != NULL)
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", connections, 1);
    play_begin();
    if (connections != NULL)
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", "7", 1);
}

int main(int argc, char **argv)
{
    const struct script *const lists[] = {script_deeds, script_threads, script_ends};
    for (size_t i = 0; argc == 2 && i < sizeof lists / sizeof lists[0]; i++) {
        for (const struct script *script = lists[i]; script->name != NULL; script++) {
            if (strcmp(script->name, argv[1]) != 0)
                continue;
            begin_range();
            begin_cuda();
            int status = script->play();
            play_deliver();
            expect_keep();
            printf("played %s\n", argv[1]);
            return status;
        }
    }
    fprintf(stderr, "player: no such script\n");
    return 95;
}
