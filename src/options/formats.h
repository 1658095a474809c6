/* formats.h - the list of report formats beside `text`: a row for each, with the name that
 * --format takes and the function that writes it.
 *
 * The option table takes its names from here, and writers/writer.h its functions, which lie in
 * a room below: a new format is a row here and a file in src/writers/. */
#ifndef PIPELINE_OPTIONS_FORMATS_H
#define PIPELINE_OPTIONS_FORMATS_H

#define REPORT_FORMATS(ROW)                                                                    \
    ROW(FORMAT_JSON, "json", write_json)                                                       \
    ROW(FORMAT_CSV, "csv", write_csv_report)

#endif
