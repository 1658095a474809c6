/* writer.c - what the writers share: text made fit to be shown, a run in few words, and the
 * ticks of a time axis. */
#include "writers/writer.h"

#include "core/units.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

int writer_columns(const char *text)
{
    int columns = 0;
    for (; *text != '\0'; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

const char *writer_fit(char *fitted, size_t room, const char *text, int columns)
{
    return escape_fit(fitted, room, text, columns, "..");
}

/* --- a run in few words --- */

bool writer_loop(const struct run_report *run, char text[WRITER_LOOP])
{
    char time[UNITS_TEXT];
    text[0] = '\0';
    if (run->trace == NULL || run->trace->loop.passes == 0)
        return false;
    const struct loop *loop = &run->trace->loop;
    snprintf(text, WRITER_LOOP, "%" PRIu32 " passes of %" PRIu32 " op%s, %s each", loop->passes,
             loop->ops, loop->ops == 1 ? "" : "s", units_time(loop->pass_ns, time));
    return true;
}

int64_t writer_of_round(const struct run_report *run, int64_t time_ns)
{
    const bool rounds = run->trace != NULL && run->trace->rounds > 0;
    return rounds ? (int64_t)((double)time_ns / run->trace->rounds + 0.5) : time_ns;
}

void writer_devices(const struct run_report *run, char text[DEVICES_TEXT])
{
    char device[3 * sizeof run->device], several[16] = "";
    const uint32_t devices = timeline_devices(&run->timeline);
    const bool shared = run->timeline.sharing != SHARING_NONE && devices > 1;
    /* Where models differ, each is named. */
    escape_text(device, sizeof device, report_device(run));
    if (shared) {
        snprintf(text, DEVICES_TEXT, "%s, shared by %" PRIu32 " processes", device, devices);
        return;
    }
    if (devices > 1 && strstr(report_device(run), " + ") == NULL)
        snprintf(several, sizeof several, "%" PRIu32 " x ", devices);
    snprintf(text, DEVICES_TEXT, "%s%s", several, device);
}

/* Returns true if a program's operators or kernels are PyTorch's own. */
static bool is_torch(const struct timeline *timeline)
{
    for (uint32_t i = 0; i < timeline->name_count; i++) {
        if (strstr(timeline->names[i], "at::native::") != NULL)
            return true;
    }
    EACH (const struct host_range, range, timeline->ranges, timeline->range_count) {
        if (strncmp(range->name, "aten::", 6) == 0)
            return true;
    }
    return false;
}

const char *writer_how(const struct run_report *run, enum verdict_code code, const char **calls)
{
    const struct verdict_row *row = &verdict_rows[code];
    const bool torch = row->torch != NULL && run->foreign && is_torch(&run->timeline);
    *calls = torch ? "PyTorch" : "CUDA";
    return torch ? row->torch : row->cuda;
}

const char *writer_engine(struct resource engine, uint32_t devices, char text[ENGINE_LABEL])
{
    const char *label = engine_rows[engine.kind].label;
    if (devices == 1 || !engine_of_device(engine.kind))
        return label;
    snprintf(text, ENGINE_LABEL, "%" PRIu32 " %s", engine.device, label);
    return text;
}

bool writer_limit_known(const struct run_report *run)
{
    return !run->foreign || run->verdicts.limit_known ||
           (run->trace != NULL && run->trace->limit_ns > 0);
}

void writer_origin(const struct run_report *run, char text[ORIGIN_TEXT])
{
    char devices[DEVICES_TEXT], driver[3 * TIMELINE_TEXT];
    writer_devices(run, devices);
    escape_text(driver, sizeof driver, run->timeline.driver);
    snprintf(text, ORIGIN_TEXT, "%s, %s%s%s", timeline_source(&run->timeline), devices,
             driver[0] ? ", " : "", driver);
}

const char *writer_about(int64_t ns, const struct prospect *prospect, char text[WRITER_ABOUT])
{
    units_about(ns, prospect->range.low_ns, prospect->range.high_ns, text);
    if (prospect->unsure)
        text_add(text, WRITER_ABOUT, ", ", "which may be no gain");
    return text;
}

void writer_figures(const struct run_report *run, bool alone, char text[FIGURES_TEXT])
{
    char time[UNITS_TEXT], drawn[UNITS_TEXT], limit[UNITS_TEXT], speedup[32] = "";
    units_time(run->median_ns, time);
    units_time(timeline_time_ns(&run->timeline), drawn);
    units_time(run->limit.ns, limit);
    if (run->verified == VERIFIED_NO && !run->foreign)
        snprintf(speedup, sizeof speedup, ", WRONG RESULT");
    else if (isfinite(run->speedup) && !alone)
        snprintf(speedup, sizeof speedup, ", %.2fx", fmin(run->speedup, 1e9));
    bool differ = strcmp(time, drawn) != 0 && !run->profiled;
    if (!writer_limit_known(run))
        snprintf(text, FIGURES_TEXT, ": %s%s", time, speedup);
    else
        snprintf(text, FIGURES_TEXT, ": %s%s, limit %s%s%s", time, speedup, limit,
                 differ ? ", drawn " : "", differ ? drawn : "");
}

void writer_put_title(FILE *out, const struct report *report)
{
    char version[256];
    fprintf(out, "pipeline %s\n", escape_text(version, sizeof version, report->version));
}

/* --- a time axis --- */

/* Returns the number of decimals that tell one tick from the next. */
static int ticks_decimals(const struct writer_ticks *ticks)
{
    int decimals = 0;
    for (double unit = ticks->unit_ns; unit > 1.5 * ticks->step_ns; unit /= 10)
        decimals++;
    return decimals;
}

struct writer_ticks writer_ticks_choose(int64_t length_ns, int columns, int apart)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    static const int steps[] = {1, 2, 5};
    double length = (double)length_ns, decade = 1;
    int unit = 0;
    while (unit < 3 && length < units[unit].ns)
        unit++;
    struct writer_ticks ticks = {units[unit].name, units[unit].ns, 1, 0};
    for (int i = 0; length > 0; i = (i + 1) % 3) {
        ticks.step_ns = steps[i] * decade;
        ticks.decimals = ticks_decimals(&ticks);
        int label = snprintf(NULL, 0, "%.*f", ticks.decimals, length / ticks.unit_ns) + 2;
        if (ticks.step_ns / length * columns >= (label > apart ? label : apart))
            break;
        decade *= i == 2 ? 10 : 1;
    }
    return ticks;
}

/* Longer lines of prose are hard to read, however wide the terminal is. */
enum { WORDS_WIDTH_MAX = 100, WORD_TEXT = 512, WORDS_TEXT = 4096 };

void writer_put_words(FILE *out, int width, int indent, const char *text)
{
    width = width < WORDS_WIDTH_MAX ? width : WORDS_WIDTH_MAX;
    int column = (int)strspn(text, " ");
    fprintf(out, "%*s", column, "");
    text += column;
    bool first = true;
    while (*text != '\0') {
        char raw[WORD_TEXT], word[4 * WORD_TEXT];
        size_t bytes = strcspn(text, " ");
        snprintf(raw, sizeof raw, "%.*s", (int)bytes, text);
        escape_text(word, sizeof word, raw);
        int columns = writer_columns(word);
        if (!first && column + 1 + columns > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            putc(' ', out);
            column++;
        }
        first = false;
        fputs(word, out);
        column += columns;
        text += bytes + (text[bytes] == ' ');
    }
    putc('\n', out);
}

void writer_print_words(FILE *out, int width, int indent, const char *format, ...)
{
    char text[WORDS_TEXT];
    PRINT_REST(text, sizeof text, format);
    writer_put_words(out, width, indent, text);
}
