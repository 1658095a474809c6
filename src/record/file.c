/* file.c - the recording's file: lines are put together in memory, and written when there are
 * many or it is time.
 *
 * The file is opened anew for each write: the program may close all descriptors that it does
 * not know, and would find one of ours among its own. */
#include "core/escape.h"
#include "record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TEXT_BYTES = 4 << 20, /* that are held at most before they are written */
    LINE_ROOM = 32 << 10, /* no line is longer */
    DIGITS = 24,
    HIGH_DESCRIPTOR = 500, /* so that the program's next descriptor is what it would be */
};

static char path[4096];
static char *text;
static size_t used, line_begin;
static uint64_t written, limit_bytes;
static bool is_full;   /* the limit is reached */
static bool is_stuck;  /* the latest write failed: the next one is tried when it is time */
static bool is_closed; /* nothing comes behind the last line */
static bool is_silent; /* lines are dropped */
static bool no_room;   /* the line that is put together is lost */
static _Atomic uint64_t lost;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void record_lose(uint64_t count)
{
    atomic_fetch_add(&lost, count);
}

static int open_again(int flags)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | flags, 0666);
    if (fd < 0)
        return -1;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

bool file_open(const char *folder, const char *program, uint64_t limit)
{
    enum { LIVES = 100 };
    int fd = -1;
    for (int life = 1; fd < 0 && life <= LIVES; life++) {
        char again[16] = "";
        if (life > 1)
            snprintf(again, sizeof again, "-%d", life);
        int length = snprintf(path, sizeof path, "%s/%.200s%s.%d.jsonl", folder,
                              *program != '\0' ? program : "program", again, (int)getpid());
        if (length < 0 || (size_t)length >= sizeof path)
            return false;
        fd = open_again(O_CREAT | O_EXCL);
        if (fd < 0 && errno != EEXIST)
            return false;
    }
    if (fd >= 0)
        close(fd);
    limit_bytes = limit;
    text = malloc(TEXT_BYTES);
    return fd >= 0 && text != NULL;
}

/* Writes as much of the text as can be, and returns how many bytes. */
static size_t write_text(void)
{
    int fd = open_again(0);
    size_t done = 0;
    while (fd >= 0 && done < used) {
        ssize_t wrote = write(fd, text + done, used - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            break;
        done += (size_t)wrote;
    }
    if (fd >= 0)
        close(fd);
    return done;
}

/* Writes all that is held, or keeps what can't be written yet. The thread, which may be the
 * program's, must not be cancelled here, nor find another errno. A limit on files' sizes must
 * not kill the program: the signal that it would send is blocked, and taken back if it comes.
 */
static void write_out(void)
{
    const int error = errno;
    int cancel;
    sigset_t xfsz, before, pending;
    sigemptyset(&xfsz);
    sigaddset(&xfsz, SIGXFSZ);
    sigpending(&pending);
    bool was_pending = sigismember(&pending, SIGXFSZ) == 1;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    pthread_sigmask(SIG_BLOCK, &xfsz, &before);
    size_t done = write_text();
    written += done;
    used -= done;
    memmove(text, text + done, used);
    is_stuck = used > 0;
    if (is_stuck && !was_pending) {
        const struct timespec now = {0, 0};
        sigtimedwait(&xfsz, NULL, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_setcancelstate(cancel, NULL);
    errno = error;
}

static void put(const char *bytes, size_t count)
{
    no_room |= used + count > TEXT_BYTES || used - line_begin + count > LINE_ROOM;
    if (!no_room) {
        memcpy(text + used, bytes, count);
        used += count;
    }
}

static void begin_line(const char *what)
{
    if (used + LINE_ROOM > TEXT_BYTES && !is_stuck)
        write_out();
    line_begin = used;
    no_room = false;
    put("[\"", 2);
    put(what, strlen(what));
    put("\"", 1);
}

/* Ends the line, which is lost as a whole where there is no room for it. */
static void end_line(bool last)
{
    enum { LAST_LINES = 512 }; /* room for what is said at the end */
    put("]\n", 2);
    if (!last)
        is_full |= limit_bytes > 0 && written + used + LAST_LINES > limit_bytes;
    if (no_room && !is_closed)
        record_lose(1);
    if (no_room || is_closed || (is_full && !last))
        used = line_begin;
}

static void put_digits(uint64_t value)
{
    char digits[DIGITS];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    put(digits + at, sizeof digits - at);
}

static void put_text(const char *string)
{
    enum { TEXT_MOST = 4096 };
    const char *at = string;
    put("\"", 1);
    for (size_t sent = 0; *at != '\0' && sent < TEXT_MOST; sent++) {
        char escape[8];
        uint32_t character;
        size_t length = escape_utf8(at, &character);
        if (length == 1 && (character < ' ' || *at == '"' || *at == '\\' || *at == 0x7F))
            put(escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", character));
        else if (length == 0)
            put("\xEF\xBF\xBD", 3);
        else
            put(at, length);
        at += length > 0 ? length : 1;
    }
    put("\"", 1);
}

static void put_words(const uint64_t *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        put(i > 0 ? "," : "[", 1);
        put_digits(words[i]);
    }
    put(count > 0 ? "]" : "[]", count > 0 ? 1 : 2);
}

static void put_field(const struct field *field)
{
    put(",", 1);
    switch (field->kind) {
    case FIELD_NULL:
        put("null", 4);
        break;
    case FIELD_SIGNED:
        if (field->number < 0)
            put("-", 1);
        put_digits(field->number < 0 ? -field->address : field->address);
        break;
    case FIELD_UNSIGNED:
        put_digits(field->address);
        break;
    case FIELD_TEXT:
        put_text(field->text);
        break;
    case FIELD_WORDS:
        put_words(field->words, field->count);
        break;
    }
}

struct field field_signed(int64_t number)
{
    return (struct field){.kind = FIELD_SIGNED, .number = number};
}

struct field field_unsigned(uint64_t number)
{
    return (struct field){.kind = FIELD_UNSIGNED, .address = number};
}

struct field field_text(const char *string)
{
    return (struct field){.kind = FIELD_TEXT, .text = string};
}

struct field field_words(const uint64_t *words, uint32_t count)
{
    return count == ENTRY_NO_WORDS
               ? FIELD_NOTHING
               : (struct field){.kind = FIELD_WORDS, .count = count, .words = words};
}

struct field field_itself(struct field field)
{
    return field;
}

/* Puts one line together. The `last` ones are those of the end. */
static void put_line(const char *what, const struct field *fields, size_t count, bool last)
{
    begin_line(what);
    for (size_t i = 0; i < count; i++)
        put_field(&fields[i]);
    end_line(last);
}

void file_line(const char *what, const struct field *fields, size_t count)
{
    record_lock(&lock);
    if (!is_silent)
        put_line(what, fields, count, false);
    record_unlock(&lock);
}

void file_header(const char *before, const char *program, const char *behind)
{
    record_lock(&lock);
    line_begin = used;
    put(before, strlen(before));
    put_text(program);
    put(behind, strlen(behind));
    record_unlock(&lock);
}

void file_flush(bool *full)
{
    record_lock(&lock);
    if (used > 0)
        write_out();
    *full = is_full;
    record_unlock(&lock);
}

void file_silence(bool silent)
{
    record_lock(&lock);
    is_silent = silent;
    record_unlock(&lock);
}

void file_close(const char *why)
{
    record_lock(&lock);
    uint64_t count = atomic_load(&lost);
    const struct field missing[] = {
        FIELD(count), FIELD("more than the library could hold, or CUPTI dropped")};
    const struct field end[] = {FIELD(record_now_ns()), FIELD(is_full ? "limit" : why)};
    if (count > 0)
        put_line("lost", missing, 2, true);
    put_line("end", end, 2, true);
    is_closed = true;
    write_out();
    record_unlock(&lock);
}
