/* source_line.c - the source lines of places in programs and libraries. GNU's addr2line reads
 * the debug information. */
#include "app/record.h"

#include "term/child.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PLACES_AT_ONCE = 500, NUMBER_ROOM = 24, ANSWER_MAX = 16 << 20, SECONDS = 60 };

/* --- programs and libraries --- */

/* A file in memory. */
struct image {
    const unsigned char *bytes;
    size_t size;
};

static bool image_open(struct image *image, const char *path)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    void *bytes = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0)
        bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    if (bytes == MAP_FAILED)
        return false;
    *image = (struct image){.bytes = bytes, .size = (size_t)about.st_size};
    return true;
}

/* Copies `size` bytes at `offset`. Returns false where the file ends before. */
static bool image_read(const struct image *image, uint64_t offset, void *to, size_t size)
{
    if (offset > image->size || size > image->size - offset)
        return false;
    memcpy(to, image->bytes + offset, size);
    return true;
}

/* Returns true if the section is called `name`. */
static bool is_called(const struct image *image, const Elf64_Shdr *names,
                      const Elf64_Shdr *section, const char *name)
{
    char text[16] = "";
    const size_t size = strlen(name) + 1;
    return section->sh_name < names->sh_size &&
           image_read(image, names->sh_offset + section->sh_name, text, size) &&
           memcmp(text, name, size) == 0;
}

static bool has_lines(const struct image *image, const Elf64_Ehdr *head)
{
    Elf64_Shdr names, section;
    if (!image_read(image, head->e_shoff + (uint64_t)head->e_shstrndx * sizeof names, &names,
                    sizeof names))
        return false;
    for (unsigned i = 0; i < head->e_shnum; i++) {
        if (image_read(image, head->e_shoff + i * sizeof section, &section, sizeof section) &&
            is_called(image, &names, &section, ".debug_line"))
            return true;
    }
    return false;
}

/* Sets the address that the first loaded byte has in the file's own terms: 0 unless the program
 * can only lie in one place. */
static bool find_base(const struct image *image, const Elf64_Ehdr *head, uint64_t *base)
{
    Elf64_Phdr part;
    for (unsigned i = 0; i < head->e_phnum; i++) {
        if (!image_read(image, head->e_phoff + i * sizeof part, &part, sizeof part))
            return false;
        if (part.p_type != PT_LOAD)
            continue;
        *base = part.p_vaddr & ~(uint64_t)(sysconf(_SC_PAGESIZE) - 1);
        return true;
    }
    return false;
}

/* Returns true if the file at `path` has debug information, and sets its base. */
static bool look_at(const char *path, uint64_t *base)
{
    struct image image;
    Elf64_Ehdr head;
    if (!image_open(&image, path))
        return false;
    const bool known = image_read(&image, 0, &head, sizeof head) &&
                       memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
                       head.e_ident[EI_CLASS] == ELFCLASS64 && has_lines(&image, &head) &&
                       find_base(&image, &head, base);
    munmap((void *)image.bytes, image.size);
    return known;
}

/* --- asking --- */

/* Takes one answer: "FILE:LINE", with more behind it, or "??:0". Returns the next. */
static char *take_answer(struct source_place *place, char *answer)
{
    char *end = answer + strcspn(answer, "\n"), *next = *end != '\0' ? end + 1 : end;
    *end = '\0';
    answer[strcspn(answer, "(")] = '\0';
    for (size_t length = strlen(answer); length > 0 && answer[length - 1] == ' ';)
        answer[--length] = '\0';
    const char *colon = strrchr(answer, ':');
    if (colon != NULL && colon[1] >= '1' && colon[1] <= '9' && answer[0] != '?')
        place->line = strdup(answer);
    return next;
}

static enum status refuse(const struct child *child, enum child_end end, struct error *error)
{
    if (end == CHILD_NOT_FOUND)
        return error_set(error, STATUS_FAILED,
                         "there is no addr2line to find source lines with (apt-get install "
                         "binutils)");
    if (end == CHILD_LATE)
        return error_set(error, STATUS_FAILED, "addr2line took over %d s for %s and was ended",
                         SECONDS, child->arguments[2]);
    if (end == CHILD_NOT_STARTED || end == CHILD_LOST)
        return error_set(error, STATUS_FAILED, "addr2line can't be run: %s",
                         strerror(child->code));
    return error_set(error, STATUS_FAILED, "addr2line finds no source lines in %s",
                     child->arguments[2]);
}

/* Asks for `count` places of one file, at most PLACES_AT_ONCE. */
static enum status ask(struct source_place *places, size_t count, const char *path,
                       uint64_t base, struct error *error)
{
    char numbers[PLACES_AT_ONCE][NUMBER_ROOM];
    char *arguments[PLACES_AT_ONCE + 4] = {"addr2line", "-e", (char *)path};
    struct child child = {.arguments = arguments, .output_max = ANSWER_MAX, .seconds = SECONDS};
    for (size_t i = 0; i < count; i++) {
        /* The call itself is before the place that it returns to. */
        snprintf(numbers[i], NUMBER_ROOM, "0x%" PRIx64, base + places[i].offset - 1);
        arguments[3 + i] = numbers[i];
    }
    const enum child_end end = child_run(&child);
    enum status status = STATUS_OK;
    if (end != CHILD_EXITED || child.code != 0)
        status = refuse(&child, end, error);
    char *answer = NULL;
    if (status == STATUS_OK && child.length > 0)
        answer = strndup(child.output, child.length);
    for (char *at = answer; at != NULL && count > 0; count--)
        at = take_answer(places++, at);
    free(answer);
    free(child.output);
    return status;
}

enum status source_lines_find(struct source_place *places, size_t count, struct error *error)
{
    enum status status = STATUS_OK;
    size_t next;
    for (size_t first = 0; first < count && status == STATUS_OK; first = next) {
        uint64_t base = 0;
        next = first + 1;
        while (next < count && strcmp(places[next].file, places[first].file) == 0)
            next++;
        /* The loader calls a program what it was called: a name that was sought in PATH. */
        char *path = child_find(places[first].file);
        const bool known = path != NULL && look_at(path, &base);
        for (size_t at = first; known && at < next && status == STATUS_OK; at += PLACES_AT_ONCE)
            status = ask(places + at, next - at < PLACES_AT_ONCE ? next - at : PLACES_AT_ONCE,
                         path, base, error);
        free(path);
    }
    return status;
}
