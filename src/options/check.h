/* check.h - a run that is checked: private to the files that check settings together. */
#ifndef PIPELINE_OPTIONS_CHECK_H
#define PIPELINE_OPTIONS_CHECK_H

#include "options/table.h"

/* A run, and where each of its settings comes from; `origins` is NULL once that is forgotten.
 */
struct judged {
    const struct settings *settings;
    const struct origin *origins;
    struct error *error;
};

/* Writes what was given for an option into `text`, as messages name it, and returns it. */
const char *check_label(const struct judged *run, enum option_id id, char text[LABEL_MAX]);

/* Refuses two settings that don't go together: "ONE BETWEEN OTHER REST". */
enum status check_refuse_pair(const struct judged *run, enum option_id one, const char *between,
                              enum option_id other, const char *rest);

/* Returns true where an input file tells the number of elements later, and the checks of it
 * then come again. */
bool check_elements_are_open(const struct judged *run);

/* Refuse what does not go with the host's memory, with tiles that lie apart in it or are
 * columns of a matrix, and with memory of the device that is taken for each tile. */
enum status check_memory(const struct judged *run);
enum status check_scatter(const struct judged *run);
enum status check_copy(const struct judged *run);
enum status check_alloc(const struct judged *run);

/* Returns how many devices a run has: that of its --device, or of each process one. */
uint32_t check_device_count(const struct settings *settings);

/* Refuses for several devices what works on one alone, or is known of one alone; and for one
 * what needs several. */
enum status check_devices(const struct judged *run);

/* Returns why processes can't share a run of these settings, in words that follow the value of
 * *option; NULL: they can. */
const char *check_processes(const struct settings *settings, enum option_id *option);

/* Refuses for processes that share a device what they can't do. */
enum status check_share(const struct judged *run);

/* Refuses a way from device to device where nothing is handed on: tiles that are dealt over
 * devices need not be. */
enum status check_exchange(const struct judged *run);

/* Settles a stencil's streams, and refuses for it what would be another plan than there is. */
enum status settle_halo(const struct judged *run, struct settings *settings);
enum status check_halo(const struct judged *run);

#endif
