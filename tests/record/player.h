/* player.h - the scripts of the player, which its main() chooses from by name. */
#ifndef PIPELINE_TESTS_PLAYER_H
#define PIPELINE_TESTS_PLAYER_H

struct script {
    const char *name;
    int (*play)(void); /* returns the program's exit status */
};

/* Each list ends with a name that is NULL. */
extern const struct script script_deeds[], script_threads[], script_ends[];

#endif
