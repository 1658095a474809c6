/* fuzz_rewrite.c - CUDA sources, as `pipeline try` rewrites them for a C++ compiler. */
#include "app/try.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

/* What has nothing of CUDA's stays as it is. */
bool fuzz_rewrite(const uint8_t *data, size_t size)
{
    struct error error = {0};
    char *text = malloc(size + 1), *out = NULL;
    size_t bytes = 0;
    FUZZ_REQUIRE(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    const enum status status = try_rewrite(text, size, &out, &bytes, &error);
    if (status == STATUS_OK) {
        FUZZ_REQUIRE(out != NULL || bytes == 0);
        if (size > 0 && strpbrk(text, "<>*[_") == NULL && memchr(text, '\0', size) == NULL)
            FUZZ_REQUIRE(bytes >= size && memcmp(out + bytes - size, text, size) == 0);
    } else {
        FUZZ_REQUIRE(out == NULL && status == STATUS_USAGE);
        FUZZ_REQUIRE(error.text[0] != '\0' && strpbrk(error.text, "\n\r") == NULL);
    }
    free(out);
    free(text);
    return status == STATUS_OK;
}
