/* gunzip.c - unpacks what gzip packed, by zlib. */
#include "trace/gunzip.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    BLOCK = 1 << 16,
    MAGIC = 0x1f,               /* what a part begins with: ID1 of RFC 1952 */
    GZIP_ONLY = 16 + MAX_WBITS, /* of inflateInit2(): no other form that zlib has */
};

const char gunzip_no_memory[] = "no memory to unpack it";

struct gunzip {
    z_stream stream;
    bool over; /* a part has ended: another may follow */
    unsigned char bytes[BLOCK];
};

struct gunzip *gunzip_create(const char *first, size_t count, const char **why)
{
    struct gunzip *gunzip = calloc(1, sizeof *gunzip);
    *why = gunzip_no_memory;
    if (gunzip == NULL || count > BLOCK || inflateInit2(&gunzip->stream, GZIP_ONLY) != Z_OK) {
        free(gunzip);
        return NULL;
    }
    *why = NULL;
    memcpy(gunzip->bytes, first, count);
    gunzip->stream.next_in = gunzip->bytes;
    gunzip->stream.avail_in = (uInt)count;
    return gunzip;
}

void gunzip_free(struct gunzip *gunzip)
{
    if (gunzip != NULL)
        inflateEnd(&gunzip->stream);
    free(gunzip);
}

/* Reads on where nothing is left to unpack. False: the file has ended, or can't be read. */
static bool fill(struct gunzip *gunzip, FILE *file, const char **why)
{
    z_stream *stream = &gunzip->stream;
    if (stream->avail_in > 0)
        return true;
    stream->next_in = gunzip->bytes;
    stream->avail_in = (uInt)fread(gunzip->bytes, 1, BLOCK, file);
    if (ferror(file))
        *why = strerror(errno);
    return stream->avail_in > 0;
}

bool gunzip_ended(const struct gunzip *gunzip)
{
    return gunzip->over;
}

size_t gunzip_read(struct gunzip *gunzip, FILE *file, char *to, size_t room, const char **why)
{
    z_stream *stream = &gunzip->stream;
    stream->next_out = (unsigned char *)to;
    stream->avail_out = (uInt)room;
    while (stream->avail_out > 0 && fill(gunzip, file, why)) {
        if (gunzip->over && *stream->next_in != MAGIC) { /* behind the last part is padding */
            stream->avail_in = 0;
            continue;
        }
        if (gunzip->over && inflateReset(stream) != Z_OK)
            break;
        const int code = inflate(stream, Z_NO_FLUSH);
        gunzip->over = code == Z_STREAM_END;
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
            *why = code == Z_MEM_ERROR ? gunzip_no_memory : "what gzip packed is damaged";
            break;
        }
    }
    return room - stream->avail_out;
}
