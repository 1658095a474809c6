/* player.c - a program that uses CUDA, so to say: it plays one script, and behaves by itself as
 * it would if nobody took anything down.
 *
 *     player SCRIPT
 *
 * PLAYER_EXPECT names the file for the lines that a recording must have. */
#include "player.h"
#include "play.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    const struct script *const lists[] = {script_deeds, script_threads, script_ends};
    for (size_t i = 0; argc == 2 && i < sizeof lists / sizeof lists[0]; i++) {
        for (const struct script *script = lists[i]; script->name != NULL; script++) {
            if (strcmp(script->name, argv[1]) != 0)
                continue;
            play_begin();
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
