/* lab.c - writes the page that is part of the program. */
#include "app/lab.h"

#include "term/output_file.h"
#include "writers/writer.h"

enum status lab_command(const struct options *options, struct error *error)
{
    const char *path = options->output != NULL ? options->output : "lab.html";
    struct output_file file;
    if (lab_texts[0].name == NULL)
        return error_set(
            error, STATUS_FAILED,
            "this pipeline was built without the lab page, for which a build needs "
            "clang, lld, wasi-libc and libclang-rt-14-dev-wasm32: `make lab` "
            "installs them");
    enum status status = output_file_open(&file, path, error);
    if (status != STATUS_OK)
        return status;
    status = write_lab(file.stream);
    if (status == STATUS_OK)
        status = output_file_commit(&file, error);
    else
        error_set(error, status, "no memory to write %s", path);
    output_file_discard(&file);
    if (status == STATUS_OK && !options->quiet)
        printf("%s: open it in a browser; it needs no network\n", path);
    return status;
}
