/* writer.c - what the writers share: text made fit to be shown, a run in few words, and the
 * ticks of a time axis. */
#include "writers/writer.h"

#include "core/units.h"
#include "trace/trace.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Well-formed UTF-8 by its first two bytes (The Unicode Standard, table 3-7). */
static const struct {
    unsigned char first_low, first_high, second_low, second_high, length;
} utf8_forms[] = {
    {0x01, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/* Returns the bytes of the character at `text`; 0 where there is no well-formed one. Reads no
 * further than the first byte that does not fit, hence never beyond a terminating NUL. */
static size_t utf8_length(const unsigned char *text)
{
    for (size_t i = 0; i < sizeof utf8_forms / sizeof utf8_forms[0]; i++) {
        if (text[0] < utf8_forms[i].first_low || text[0] > utf8_forms[i].first_high)
            continue;
        size_t length = utf8_forms[i].length;
        if (length > 1 &&
            (text[1] < utf8_forms[i].second_low || text[1] > utf8_forms[i].second_high))
            return 0;
        for (size_t k = 2; k < length; k++) {
            if (text[k] < 0x80 || text[k] > 0xbf)
                return 0;
        }
        return length;
    }
    return 0;
}

/* Returns true for the characters that could move a terminal's cursor: C0, DEL and C1. */
static bool is_control(const unsigned char *text)
{
    return text[0] < 0x20 || text[0] == 0x7f ||
           (text[0] == 0xc2 && text[1] >= 0x80 && text[1] <= 0x9f);
}

/* Takes the next character of *text, cleaned. Sets *length to its bytes; not called at the end.
 */
static const char *next_character(const char **text, bool line, size_t *length)
{
    const char *character = *text;
    size_t taken = utf8_length((const unsigned char *)character);
    *text += taken != 0 ? taken : 1;
    *length = taken;
    if (taken == 0) {
        *length = 3;
        return "\xef\xbf\xbd";
    }
    if (line && is_control((const unsigned char *)character)) {
        *length = 1;
        return "?";
    }
    return character;
}

const char *writer_clean(char *clean, size_t room, const char *text, bool line)
{
    size_t used = 0;
    while (*text != '\0') {
        size_t length;
        const char *character = next_character(&text, line, &length);
        if (used + length >= room)
            break;
        memcpy(clean + used, character, length);
        used += length;
    }
    clean[used] = '\0';
    return clean;
}

int writer_columns(const char *text)
{
    int columns = 0;
    for (; *text != '\0'; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

const char *writer_fit(char *fitted, size_t room, const char *text, int columns)
{
    char *cut = fitted; /* where ".." goes, should the text be too long */
    size_t used = 0, length;
    int taken = 0;
    while (*text != '\0') {
        const char *character = next_character(&text, true, &length);
        if (taken == columns || used + length >= room) {
            memcpy(cut, "..", sizeof "..");
            return fitted;
        }
        memcpy(fitted + used, character, length);
        used += length;
        if (++taken <= columns - 2 && used + sizeof ".." <= room)
            cut = fitted + used;
    }
    fitted[used] = '\0';
    return fitted;
}

/* --- a run in few words --- */

const char *writer_device(const struct run_report *run)
{
    return run->device[0] != '\0' ? run->device : run->timeline.device;
}

bool writer_limit_known(const struct run_report *run)
{
    return !run->foreign || (run->trace != NULL && run->trace->limit_ns > 0);
}

void writer_origin(const struct run_report *run, char text[ORIGIN_TEXT])
{
    char device[3 * sizeof run->device], driver[3 * TIMELINE_TEXT];
    writer_clean(device, sizeof device, writer_device(run), true);
    writer_clean(driver, sizeof driver, run->timeline.driver, true);
    snprintf(text, ORIGIN_TEXT, "%s, %s%s%s", timeline_source(&run->timeline), device,
             driver[0] ? ", " : "", driver);
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
    fprintf(out, "pipeline %s\n", writer_clean(version, sizeof version, report->version, true));
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
        char word[WORD_TEXT];
        size_t bytes = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)bytes, text);
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
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    writer_put_words(out, width, indent, text);
}
