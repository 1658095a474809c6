/* copy_line.c - fits a line to the times of copies. */
#include "run/copy_line.h"

#include <math.h>

struct copy_line copy_line_fit(const double bytes[], const double ns[], int count)
{
    double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
    for (int i = 0; i < count; i++) {
        double weight = 1 / (ns[i] * ns[i]);
        w += weight;
        wx += weight * bytes[i];
        wxx += weight * bytes[i] * bytes[i];
        wy += weight * ns[i];
        wxy += weight * bytes[i] * ns[i];
    }
    double slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
    struct copy_line line = {.bytes_per_s = 1e9 / slope, .latency_ns = (wy - slope * wx) / w};
    for (int i = 0; i < count; i++)
        line.worst = fmax(line.worst, fabs((line.latency_ns + slope * bytes[i]) / ns[i] - 1));
    return line;
}
