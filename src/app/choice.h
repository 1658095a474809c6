/* choice.h - settings that are left to the simulator: tiles, streams and issue. */
#ifndef PIPELINE_APP_CHOICE_H
#define PIPELINE_APP_CHOICE_H

#include "app/job.h"

/* Chooses tiles, streams and issue where they are auto, on the machine that stands for the
 * opened device, and notes what was chosen and what else was tried: from here on job->settings
 * say what is used. Returns what tune_settings() does. */
enum status choice_make(struct job *job, struct error *error);

#endif
