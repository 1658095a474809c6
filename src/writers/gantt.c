/* gantt.c - the timelines as a picture of letters, all runs on one time axis.
 *
 * A span of a column or more is a bar: its stage's letter, its tile's number where there is
 * room, then '=' to its end; so a letter always begins a span. Shorter spans share columns: a
 * capital where they keep the column busy for half its time or more, else a small letter. */
#include "writers/gantt.h"
#include "core/arena.h"
#include "writers/cause.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH_MIN = 40,
    LABEL_MAX = 32,
    MARK_LINES = 2,   /* below a row */
    NUMBERED_MIN = 3, /* columns of a bar that shows its tile: less would crowd the letters */
};

/* The place of a span in the picture: a lane of an engine or, by streams, a stream of a device,
 * the CPU or the host. */
struct place {
    uint32_t group; /* a resource's number; by streams that of the device's first engine, but
                       the resource for a span that is in no stream */
    uint32_t index;
};

/* The rows of one run, group by group. */
struct grid {
    const struct timeline *timeline;
    uint32_t lanes[RESOURCES_MOST]; /* number of lanes that are drawn of each group */
    uint32_t first[RESOURCES_MOST]; /* first row of each group */
    uint32_t rows;
    uint64_t left_out;
    bool *used;         /* rows in which something is drawn */
    struct cell *cells; /* row by row */
    char *marks; /* lines under each row, as wide, one for each gap: '^' for a cause's gap, '!'
                    for what raced */
    struct arena arena; /* what has these rows */
    struct marks found;
};

static struct place place_of(const struct picture *picture, const struct grid *grid,
                             const struct span *span)
{
    const struct stream_home home = timeline_stream_home(grid->timeline, span->stream);
    const uint32_t devices = timeline_devices(grid->timeline);
    if (picture->style->gantt == GANTT_STREAMS && op_in_stream(span->kind))
        return (struct place){DEVICE_ENGINES * home.device, home.number};
    const uint32_t resource = resource_number(span_resource(span), devices);
    return (struct place){resource, grid->found.one_row[resource] ? 0 : span->lane};
}

/* Waits occupy no engine: they are drawn by streams only. */
static bool is_drawn(const struct picture *picture, const struct span *span)
{
    return span->kind < OP_KIND_COUNT &&
           (span->engine < ENGINE_NONE || picture->style->gantt == GANTT_STREAMS);
}

static int mark_of(const struct picture *picture, const struct span *span)
{
    bool lettered = span->kind == OP_KERNEL && !picture->one_kernel;
    return gantt_mark((enum op_kind)span->kind) + (lettered ? span->link % CHAIN_MAX : 0);
}

static bool grid_begin(struct grid *grid, const struct picture *picture,
                       const struct timeline *timeline)
{
    uint32_t most = picture->style->verbose > 0 ? LANES_MAX : LANES_SHOWN;
    for (uint32_t i = 0; i < timeline->span_count; i++) {
        struct place place = place_of(picture, grid, &timeline->spans[i]);
        if (is_drawn(picture, &timeline->spans[i]) && place.index >= grid->lanes[place.group])
            grid->lanes[place.group] = place.index + (place.index < UINT32_MAX);
    }
    const uint32_t groups = resource_count(timeline_devices(timeline));
    for (uint32_t group = 0; group < groups; group++) {
        if (grid->lanes[group] > most) {
            grid->left_out += grid->lanes[group] - most;
            grid->lanes[group] = most;
        }
        grid->first[group] = grid->rows;
        grid->rows += grid->lanes[group];
    }
    size_t columns = (size_t)picture->columns + 1;
    grid->used = arena_zeros(&grid->arena, grid->rows, sizeof *grid->used);
    grid->cells = arena_zeros(&grid->arena, grid->rows * columns, sizeof *grid->cells);
    grid->marks = arena_zeros(&grid->arena, grid->rows * columns * MARK_LINES, 1);
    return !grid->arena.full;
}

static struct cell *row_cells(const struct picture *picture, const struct grid *grid,
                              uint32_t row)
{
    return &grid->cells[row * (size_t)(picture->columns + 1)];
}

static void draw_bar(struct cell *cells, int first, int end, int mark, int32_t tile)
{
    char text[16];
    int length = 1;
    text[0] = gantt_letter(mark);
    if (tile >= 0 && mark != MARK_WAIT) {
        int numbered = snprintf(text, sizeof text, "%c%" PRId32, gantt_letter(mark), tile);
        length = numbered <= end - first && end - first >= NUMBERED_MIN ? numbered : 1;
    }
    for (int c = first; c < end; c++) {
        cells[c].letter = c - first < length ? text[c - first] : '=';
        if (mark == MARK_WAIT)
            cells[c].letter = '-';
        cells[c].mark = (uint8_t)mark;
    }
}

/* A span shorter than a column lies in one column or in two. */
static void draw_share(struct cell *cells, int columns, double start, double end, int mark)
{
    static const float trace = 1e-6F; /* added so that a span of no length shows, too */
    int first = (int)start < columns ? (int)start : columns - 1;
    double boundary = first + 1;
    if (end <= boundary || first + 1 == columns) {
        cells[first].share[mark] += (float)(end - start) + trace;
    } else {
        cells[first].share[mark] += (float)(boundary - start) + trace;
        cells[first + 1].share[mark] += (float)(end - boundary);
    }
}

static double column_of(const struct picture *picture, int64_t ns)
{
    double column = (double)(ns + picture->clock_ns) * picture->scale;
    return column < 0 ? 0 : column > picture->columns ? picture->columns : column;
}

static void draw_span(struct picture *picture, struct grid *grid, const struct span *span)
{
    struct place place = place_of(picture, grid, span);
    if (!is_drawn(picture, span) || place.index >= grid->lanes[place.group])
        return;
    uint32_t row = grid->first[place.group] + place.index;
    struct cell *cells = row_cells(picture, grid, row);
    double start = column_of(picture, span->start_ns), end = column_of(picture, span->end_ns);
    int mark = mark_of(picture, span);
    grid->used[row] = true;
    picture->seen[mark] = true;
    picture->seen_tile |= span->tile >= 0;
    if (end - start >= 1)
        draw_bar(cells, (int)(start + 0.5), (int)(end + 0.5), mark, span->tile);
    else
        draw_share(cells, picture->columns, start, end < start ? start : end, mark);
    picture->shared += end - start < 1;
}

static char *row_marks(const struct picture *picture, const struct grid *grid, uint32_t row,
                       int line)
{
    size_t columns = (size_t)picture->columns + 1;
    return &grid->marks[((size_t)row * MARK_LINES + (size_t)line) * columns];
}

/* Puts `sign` under the columns of a stretch of time, in a line below the row of `span`.
 * Returns the first column, as it is in grid->marks; NULL where that row is not drawn. */
static char *mark_stretch(const struct picture *picture, struct grid *grid,
                          const struct span *span, int64_t start_ns, int64_t end_ns, int line,
                          char sign)
{
    struct place place = place_of(picture, grid, span);
    if (!is_drawn(picture, span) || place.index >= grid->lanes[place.group])
        return NULL;
    char *marks = row_marks(picture, grid, grid->first[place.group] + place.index, line);
    int first = (int)(column_of(picture, start_ns) + 0.5);
    int end = (int)(column_of(picture, end_ns) + 0.5);
    first = first < picture->columns ? first : picture->columns - 1;
    memset(marks + first, sign, (size_t)larger(1, end - first));
    return marks + first;
}

/* Returns true if there is room for `length` letters from column `at` on, and beside them; with
 * `over`, where gaps are marked, too. */
static bool has_room(const char *line, int columns, int at, int length, bool over)
{
    bool room = at >= 0 && at + length <= columns;
    for (int c = at > 0 ? at - 1 : 0; c <= at + length && c < columns && room; c++)
        room = line[c] == '\0' || (line[c] == '^' && (over || c < at || c == at + length));
    return room;
}

/* Writes a cause's name behind its gap, before it or, where there is no room, over its gaps. */
static void name_gap(const struct picture *picture, const struct grid *grid, const char *gap,
                     const char *name)
{
    int columns = picture->columns, length = (int)strlen(name);
    int first = (int)((size_t)(gap - grid->marks) % ((size_t)columns + 1)), end = first;
    char *line = &grid->marks[gap - grid->marks - first];
    while (end < columns && line[end] == '^')
        end++;
    const int last = columns - length;
    const int places[] = {end + 1, first - length - 1, first < last ? first : last};
    for (int i = 0; i < 3; i++) {
        if (!has_room(line, columns, places[i], length, i == 2))
            continue;
        memset(line + larger(0, places[i] - 1), '\0', (size_t)(places[i] > 0));
        memcpy(line + places[i], name, (size_t)length);
        line[places[i] + length] = '\0'; /* at most the end of the line */
        return;
    }
}

/* Marks the gaps, the first cause's in a line of their own, and names each cause at its
 * longest. In the row of a stream a gap ends where its op begins. */
static void mark_gaps(struct picture *picture, struct grid *grid)
{
    const struct marks *marks = &grid->found;
    char *longest = NULL;
    int64_t longest_ns = 0;
    for (uint32_t i = 0; i < marks->gap_count; i++) {
        const struct charged *gap = marks->gaps[i];
        const struct span *span = &grid->timeline->spans[gap->at.span];
        int64_t end_ns = gap->at.end_ns; /* where several are one, it stands for them */
        const int64_t start_ns = later(gap->at.start_ns, end_ns - gap->cost_ns);
        if (picture->style->gantt == GANTT_STREAMS && start_ns < span->start_ns)
            end_ns = earlier(end_ns, span->start_ns);
        char *at = mark_stretch(picture, grid, span, start_ns, end_ns,
                                gap->code != marks->gaps[0]->code, '^');
        picture->seen_gap |= at != NULL;
        if (at != NULL && (longest == NULL || end_ns - start_ns > longest_ns)) {
            longest = at;
            longest_ns = end_ns - start_ns;
        }
        if (i + 1 < marks->gap_count && marks->gaps[i + 1]->code == gap->code)
            continue;
        if (longest != NULL)
            name_gap(picture, grid, longest, verdict_rows[gap->code].name);
        longest = NULL;
    }
}

static void mark_races(struct picture *picture, struct grid *grid)
{
    for (uint32_t i = 0; i < grid->timeline->span_count && grid->found.ops > 0; i++) {
        const struct span *span = &grid->timeline->spans[i];
        if (span->op < grid->found.ops && grid->found.races[span->op])
            picture->seen_race |=
                mark_stretch(picture, grid, span, span->start_ns, span->end_ns, 0, '!') != NULL;
    }
}

/* Prints a line of marks under a row, if there are any. */
static void print_marks(struct picture *picture, const char *marks)
{
    int end = picture->columns;
    while (end > 0 && marks[end - 1] == '\0')
        end--;
    if (end == 0)
        return;
    fprintf(picture->out, "%*s", picture->margin, "");
    gantt_color(picture, MARK_LIMIT, false);
    for (int c = 0; c < end; c++)
        putc(marks[c] != '\0' ? marks[c] : ' ', picture->out);
    gantt_color_off(picture);
    putc('\n', picture->out);
}

static bool is_free_somewhere(const struct picture *picture, const struct grid *grid, int limit)
{
    for (uint32_t row = 0; row < grid->rows; row++) {
        if (grid->used[row] && gantt_cell_is_free(&row_cells(picture, grid, row)[limit]))
            return true;
    }
    return false;
}

static void print_label(const struct picture *picture, const struct timeline *timeline,
                        const struct grid *grid, uint32_t group, uint32_t lane)
{
    char label[LABEL_MAX];
    const uint32_t devices = timeline_devices(timeline);
    const struct resource engine = resource_at(group, devices);
    const uint32_t first = engine.device * (timeline->streams / devices);
    bool stream = picture->style->gantt == GANTT_STREAMS && engine_of_device(engine.kind);
    if (stream || grid->lanes[group] > 1)
        snprintf(label, sizeof label, "%s %" PRIu32,
                 stream ? "stream" : engine_rows[engine.kind].label,
                 stream ? timeline_stream_id(timeline, first + lane) : lane);
    else
        snprintf(label, sizeof label, "%s",
                 engine.kind == ENGINE_NONE ? "" : engine_rows[engine.kind].label);
    fprintf(picture->out, "  %-*s", picture->margin - 2, label);
}

/* Names the band of rows that begins with a group: a device's, or what is the host's. */
static void print_band(const struct picture *picture, const struct grid *grid, uint32_t group,
                       uint32_t devices)
{
    const bool shared = grid->timeline->sharing != SHARING_NONE;
    const uint32_t host = DEVICE_ENGINES * devices, engines = resource_count(devices) - host;
    uint32_t lanes = 0;
    if (devices == 1 || group > host || group % DEVICE_ENGINES != 0)
        return;
    for (uint32_t i = group; i < group + (group == host ? engines : DEVICE_ENGINES); i++)
        lanes += grid->lanes[i];
    if (lanes > 0 && group == host)
        fprintf(picture->out, "  host\n");
    else if (lanes > 0)
        fprintf(picture->out, "  %s %" PRIu32 "\n", shared ? "process" : "device",
                group / DEVICE_ENGINES);
}

/* Prints the letters of the ops as the host issued them, one after another: on the axis of time
 * they would all be in its first columns. */
static void print_issue(struct picture *picture, const struct timeline *timeline)
{
    static const char cut[] = "...";
    const int room = picture->columns - (int)strlen(cut);
    int used = 0;
    uint32_t i = 0;
    fprintf(picture->out, "  %-*s", picture->margin - 2, "issued");
    for (; i < timeline->span_count && used < room; i++) {
        const struct span *span = &timeline->spans[i];
        if (span->engine >= ENGINE_NONE)
            continue;
        gantt_color(picture, mark_of(picture, span), true);
        putc(gantt_letter(mark_of(picture, span)), picture->out);
        used++;
    }
    gantt_color_off(picture);
    fprintf(picture->out, "%s\n", i < timeline->span_count ? cut : "");
    picture->seen_issue = true;
}

static void print_grid(struct picture *picture, const struct timeline *timeline,
                       const struct grid *grid, int limit)
{
    const uint32_t devices = timeline_devices(timeline);
    bool forced = limit >= 0 && !is_free_somewhere(picture, grid, limit);
    for (uint32_t group = 0; group < resource_count(devices); group++) {
        print_band(picture, grid, group, devices);
        for (uint32_t lane = 0; lane < grid->lanes[group]; lane++) {
            uint32_t row = grid->first[group] + lane;
            if (!grid->used[row])
                continue;
            print_label(picture, timeline, grid, group, lane);
            gantt_put_cells(picture, row_cells(picture, grid, row), limit, forced);
            for (int line = 0; line < MARK_LINES; line++)
                print_marks(picture, row_marks(picture, grid, row, line));
        }
    }
    if (grid->left_out > 0)
        fprintf(picture->out, "  %" PRIu64 " more rows%s\n", grid->left_out,
                picture->style->verbose > 0 ? "" : " (--verbose)");
}

static enum status print_run(struct picture *picture, const struct run_report *run)
{
    struct grid grid = {.timeline = &run->timeline};
    const struct timeline *timeline = &run->timeline;
    gantt_put_heading(picture, run);
    picture->clock_ns = run->clock_ns;
    if (timeline->span_count == 0) {
        fprintf(picture->out, "  no timeline%s\n", run->profiled ? " (--profile)" : "");
        return STATUS_OK;
    }
    picture->seen_span = true;
    enum status status = writer_find_marks(run, &grid.found);
    if (status == STATUS_OK && !grid_begin(&grid, picture, timeline))
        status = STATUS_NO_MEMORY;
    if (status == STATUS_OK) {
        for (uint32_t i = 0; i < timeline->span_count; i++)
            draw_span(picture, &grid, &timeline->spans[i]);
        for (uint32_t row = 0; row < grid.rows; row++)
            gantt_even_cells(row_cells(picture, &grid, row), picture->columns);
        mark_races(picture, &grid);
        mark_gaps(picture, &grid);
        /* A limit beyond the longest run is beyond the picture. */
        int limit = run->limit.ns > 0 && run->clock_ns + run->limit.ns <= picture->length_ns
                        ? (int)(column_of(picture, run->limit.ns) + 0.5)
                        : -1;
        if (grid.found.issue)
            print_issue(picture, timeline);
        print_grid(picture, timeline, &grid, limit);
    }
    free(grid.found.races);
    arena_free(&grid.arena);
    return status;
}

enum status write_gantt(FILE *out, const struct report *report,
                        const struct writer_style *style)
{
    int width = style->width < WIDTH_MIN ? WIDTH_MIN : style->width;
    struct picture picture = {.out = out, .report = report, .style = style};
    enum status status = STATUS_OK;
    if (style->gantt == GANTT_NONE || report->run_count == 0)
        return status;
    width = width > GANTT_WIDTH_MAX ? GANTT_WIDTH_MAX : width;
    picture.margin = gantt_margin(&picture);
    picture.columns = width - picture.margin - 1;
    for (int i = 0; i < report->run_count; i++) {
        const struct timeline *timeline = &report->runs[i].timeline;
        int64_t time_ns = report->runs[i].clock_ns + timeline_time_ns(timeline);
        picture.length_ns = time_ns > picture.length_ns ? time_ns : picture.length_ns;
        picture.one_kernel |= timeline->name_count > CHAIN_MAX;
    }
    picture.scale = picture.length_ns > 0 ? picture.columns / (double)picture.length_ns : 0;
    for (int i = 0; i < report->run_count && status == STATUS_OK; i++) {
        putc('\n', out);
        status = print_run(&picture, &report->runs[i]);
    }
    if (!picture.seen_span || status != STATUS_OK)
        return status;
    gantt_put_axis(&picture);
    gantt_put_legend(&picture);
    return STATUS_OK;
}
