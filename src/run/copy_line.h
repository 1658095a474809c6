/* copy_line.h - the rate and the latency of copies, from the times of some.
 *
 * Both who describes a device and who calibrates it take them from here. */
#ifndef PIPELINE_RUN_COPY_LINE_H
#define PIPELINE_RUN_COPY_LINE_H

/* A line through the times of copies: ns = latency_ns + 1e9 * bytes / bytes_per_s. */
struct copy_line {
    double bytes_per_s;
    double latency_ns; /* may be negative where the times are no line */
    double worst;      /* the largest relative error of a time */
};

/* Fits the line to `count` copies of different sizes, at least two: least squares of the
 * relative errors, for a small copy's time matters as much as a large one's. */
struct copy_line copy_line_fit(const double bytes[], const double ns[], int count);

#endif
