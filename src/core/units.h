/* units.h - reading and printing counts, bytes, times and rates. */
#ifndef PIPELINE_CORE_UNITS_H
#define PIPELINE_CORE_UNITS_H

#include <stdint.h>

/* The reason why a number could not be read. */
enum units_result {
    UNITS_OK = 0,
    UNITS_NOT_A_NUMBER, /* empty, no digits, or something behind them */
    UNITS_NEGATIVE,
    UNITS_TOO_LARGE, /* does not fit the type */
    UNITS_NOT_WHOLE, /* a count with a fraction */
    UNITS_IN_BYTES,  /* "64MB" where something else is counted */
};

/* Reads a whole count without sign or white space around. A suffix k, M, G or T of either case
 * stands for a power of 1024; an `i` and/or a `B` may follow it, as in `1.5GiB`. The product
 * must be whole, and may have 18 digits behind the point. Sets *count only on UNITS_OK. */
enum units_result units_read_count(const char *text, uint64_t *count);

/* Reads a finite decimal number, without suffix or white space around. */
enum units_result units_read_real(const char *text, double *value);

/* Reads a time with its unit: "2ms", "1.5 s", "250us", "40ns"; "0" needs none. Sets *ns only on
 * UNITS_OK; what is no whole number of ns is rounded. */
enum units_result units_read_time(const char *text, int64_t *ns);

/* Returns a short phrase for a result: "is not a number", "is negative", "is too large", "is
 * not a whole number". */
const char *units_complaint(enum units_result result);

/* Enough room for any of the printers below. */
enum { UNITS_TEXT = 32 };

/* Each writes one value with a unit that keeps 3 or 4 significant digits into `text` (at least
 * UNITS_TEXT chars) and returns it: "64 MiB", "1.5 GiB", "22.4 ms", "50.1 GB/s" (decimal, as
 * rates are), "64M". units_count prints a suffix only where the count is a whole multiple of
 * it. */
const char *units_bytes(uint64_t bytes, char text[UNITS_TEXT]);
const char *units_time(int64_t ns, char text[UNITS_TEXT]);
const char *units_rate(double bytes_per_s, char text[UNITS_TEXT]);
const char *units_count(uint64_t count, char text[UNITS_TEXT]);

/* Writes where a time may lie, "24.9 to 26.5 ms"; or both, "about 25.6 ms, 24.9 to 26.5": the
 * time alone where its digits say as much, or `high_ns` is 0, so that nothing is known. */
enum { UNITS_ABOUT = 64 };
const char *units_range(int64_t low_ns, int64_t high_ns, char text[UNITS_ABOUT]);
const char *units_about(int64_t ns, int64_t low_ns, int64_t high_ns, char text[UNITS_ABOUT]);

#endif
