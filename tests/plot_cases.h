/* plot_cases.h - what the tests of pictures share: drawing one, and reading it back. */
#ifndef PIPELINE_TESTS_PLOT_CASES_H
#define PIPELINE_TESTS_PLOT_CASES_H

#include "writer_cases.h"

#include <sys/types.h>

/* The test's own folder, its working directory, and back. Restores PATH and PIPELINE_PLOTS. */
void plot_enter_folder(void);
void plot_leave_folder(void);
extern char plot_folder[64];

void plot_write_file(const char *path, const char *text, mode_t mode);
char *plot_read_file(const char *path, size_t *size); /* to be freed */

/* Returns true if the gnuplot found here can draw all pictures; without one, tests of pictures
 * pass without drawing. */
bool plot_have_gnuplot(void);

extern const struct picture_style plot_slide;

/* How long gnuplot may take in plot_test_draw(). */
extern int plot_test_seconds;

/* Draws `report` into `path`, as app/outputs.c does. */
enum status plot_test_draw(const struct report *report, const char *path,
                           const struct picture_style *style, struct error *error);

/* Draws `report` into `path` and fails the test if that fails or leaves its data file behind.
 */
void plot_assert_drawn(const struct report *report, const char *path,
                       const struct picture_style *style);

/* The picture's texts, a line each, as an XML parser reads them. To be freed. */
char *plot_read_texts(const char *svg);

/* Each of `lines` (separated by '|') is a text of the picture. */
void plot_assert_texts(const char *svg, const char *lines);

/* Boxes of the colour of an engine's stage; how often `word` is in `text`. */
int plot_boxes(const char *svg, int engine);
int plot_count(const char *text, const char *word);

/* Runs a script of plots/ as a lecturer would; its errors are in "err". */
int plot_by_hand(const char *arguments);

TCase *plot_sweep_case(void);
TCase *plot_hand_case(void);
TCase *plot_failure_case(void);

#endif
