/* html_columns.c - numbers on the page, and how busy something was by columns of the time axis.
 */
#include "writers/html.h"

#include <math.h>

void html_put_exact(struct json *json, int64_t value)
{
    static const int64_t exact = INT64_C(1) << 53;
    char text[WRITE_NUMBER_ROOM];
    if (value >= -exact && value <= exact) {
        json_put_integer(json, value);
        return;
    }
    *write_integer(text, value) = '\0';
    json_put_text(json, text);
}

void html_put_bytes(struct json *json, uint64_t bytes)
{
    char text[WRITE_NUMBER_ROOM];
    if (bytes <= INT64_MAX) {
        html_put_exact(json, (int64_t)bytes);
        return;
    }
    *write_count(text, bytes) = '\0';
    json_put_text(json, text);
}

static double column_of(int64_t ns, double columns_per_ns)
{
    return fmin(fmax((double)ns * columns_per_ns, 0), HTML_COLUMNS);
}

void html_use_add(struct html_use *use, int64_t start_ns, int64_t end_ns, double columns_per_ns)
{
    const double start = column_of(start_ns, columns_per_ns),
                 end = column_of(end_ns, columns_per_ns);
    int first = (int)start, last = (int)end;
    if (first >= last) {
        use->part[first] += fmax(end - start, 0);
        return;
    }
    use->part[first] += first + 1 - start;
    use->whole[first + 1]++;
    use->whole[last]--;
    use->part[last] += end - last;
}

void html_put_use(struct json *json, const struct html_use *use)
{
    int whole = 0;
    json_line(json);
    json_open(json, '[');
    for (int i = 0; i < HTML_COLUMNS; i++) {
        whole += use->whole[i];
        json_put_integer(json, (int64_t)fmin(ceil(100 * (use->part[i] + whole)), 100));
    }
    json_close(json, ']');
}
