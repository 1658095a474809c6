/* draw.c - chance, hostile texts, files, and commands as a shell would take them. */
#include "hostile.h"

#include "../hostile_cases.h"
#include "core/embedded.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- chance: splitmix64 (Steele, Lea and Flood, OOPSLA 2014) --- */

static uint64_t draw(struct chance *chance)
{
    uint64_t word = chance->state += 0x9e3779b97f4a7c15u;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
    word = (word ^ word >> 27) * 0x94d049bb133111ebu;
    return word ^ word >> 31;
}

uint64_t draw_below(struct chance *chance, uint64_t n)
{
    return draw(chance) % n;
}

uint64_t draw_between(struct chance *chance, uint64_t least, uint64_t most)
{
    uint64_t range = most - least, bits = 0;
    while (bits < 63 && range >> bits > 0)
        bits++;
    const uint64_t some = draw_below(chance, UINT64_C(1) << draw_below(chance, bits + 1));
    return least + (some < range ? some : range);
}

bool draw_percent(struct chance *chance, unsigned percent)
{
    return draw_below(chance, 100) < percent;
}

/* --- texts --- */

const char *draw_word(struct input *input, const char *words)
{
    size_t count = 1;
    for (const char *at = words; *at != '\0'; at++)
        count += *at == ' ';
    for (size_t left = draw_below(&input->chance, count); left > 0; left--)
        words = strchr(words, ' ') + 1;
    return text_of(input, "%.*s", (int)strcspn(words, " "), words);
}

/* Names that shells, gnuplot and spreadsheets would obey, and that are hard to show. Whatever
 * obeys one makes the file "canary" (judge.c). */
static const char *const obeyed[] = {
    "$(touch canary)",
    "`touch canary`",
    "'; touch canary; '",
    "a'; touch canary; echo '",
    "\"; touch canary; \"",
    "| touch canary",
    "&& touch canary &",
    "\"\nsystem('touch canary')\n\"",
    "'\n!touch canary\n'",
    "{/Symbol `touch canary`}",
    "@{touch canary}",
    "=cmd|' /C touch canary'!A0",
    "+1+1",
    "-x",
    "--help",
    "@SUM(1)",
    "\t=1+1",
    "%s%s%s%n",
    "%1$*2$d",
    "\033[31mred\033[0m",
    "\033]0;title\007",
    "\033]8;;http:x\033\\link",
    "\2332J",
    "\302\2332J",
    "\x90q\x9c",
    "two\nlines",
    "a\rb",
    "\b\b\b\b",
    "\x7f",
    "\xff\xfe\xfd",
    "half \xe2\x82",
    "\342\200\256gnp.exe",
    " leading",
    "trailing ",
    "*",
    "?",
    "~",
    "a,b",
    "a;b",
    "#comment",
    "[section]",
    "a=b",
    ".",
    "..",
    "-",
    "nul\\0",
    "\xf0\x9f\x98\x80",
};

/* Returns 255 bytes, which is as long as a file's name can be, or a little more or less. */
static const char *long_name(struct input *input)
{
    static const char *const fillings[] = {"x", "\xc3\xa9", "'", "$(touch canary)", "\033[m"};
    const char *filling = DRAW_OF(&input->chance, fillings);
    const size_t length = 240 + draw_below(&input->chance, 20), each = strlen(filling);
    char name[260];
    for (size_t i = 0; i < length; i++)
        name[i] = filling[i % each];
    return text_of(input, "%.*s", (int)length, name);
}

const char *draw_name(struct input *input)
{
    struct chance *chance = &input->chance;
    size_t texts = 0;
    while (hostile_texts[texts] != NULL)
        texts++;
    const unsigned which = (unsigned)draw_below(chance, 10);
    const char *name =
        which < 5   ? DRAW_OF(chance, obeyed)
        : which < 8 ? hostile_texts[draw_below(chance, texts)]
        : which < 9 ? long_name(input)
                    : text_of(input, "%s%s", DRAW_OF(chance, obeyed), DRAW_OF(chance, obeyed));
    char *copy = (char *)text_of(input, "%s", name);
    for (char *at = copy; *at != '\0'; at++)
        *at = *at == '/' ? '|' : *at;
    return copy[0] != '\0' ? copy : "empty";
}

const char *draw_machine(struct input *input)
{
    size_t count = 0;
    while (machine_texts[count].name != NULL)
        count++;
    return text_of(input, "sim:%s", machine_texts[draw_below(&input->chance, count)].name);
}

/* --- files --- */

char *file_read(const char *path, size_t *size)
{
    struct stat about;
    char *bytes = NULL;
    FILE *file = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? fopen(path, "rb") : NULL;
    if (file == NULL)
        return NULL;
    bytes = malloc((size_t)about.st_size + 1);
    if (bytes != NULL) {
        *size = fread(bytes, 1, (size_t)about.st_size, file);
        bytes[*size] = '\0';
    }
    fclose(file);
    return bytes;
}

bool file_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return false;
    bool whole = fwrite(bytes, 1, size, file) == size;
    return fclose(file) == 0 && whole;
}

/* --- a command as a line for a shell --- */

static void put_quoted(FILE *out, const char *text)
{
    bool plain = text[0] != '\0', odd = false;
    for (const char *at = text; *at != '\0'; at++) {
        plain &= strchr("%+,-./:=@_", *at) != NULL || (*at >= '0' && *at <= '9') ||
                 (*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z');
        odd |= *at < ' ' || *at == 127 || *at == '\'';
    }
    if (plain) {
        fputs(text, out);
        return;
    }
    fputs(odd ? "$'" : "'", out);
    for (const char *at = text; *at != '\0'; at++) {
        if (odd && (*at < ' ' || *at == 127)) /* bytes from 128 on are negative */
            fprintf(out, "\\%03o", (unsigned char)*at);
        else if (odd && (*at == '\'' || *at == '\\'))
            fprintf(out, "\\%c", *at);
        else
            fputc(*at, out);
    }
    fputc('\'', out);
}

const char *shell_line(struct input *input, const struct call *call)
{
    char *line = NULL;
    size_t size;
    FILE *out = open_memstream(&line, &size);
    if (out == NULL)
        return "";
    if (call->file_bytes > 0)
        fprintf(out, "ulimit -f %llu; ", (unsigned long long)(call->file_bytes + 1023) / 1024);
    if (call->stack_bytes > 0)
        fprintf(out, "ulimit -s %llu; ", (unsigned long long)call->stack_bytes >> 10);
    for (int i = 0; i < call->extra_count; i++) {
        put_quoted(out, call->extra[i]);
        fputc(' ', out);
    }
    fputs(setting.program, out);
    for (int i = 1; i <= call->count; i++) {
        fputc(' ', out);
        put_quoted(out, call->arguments[i]);
    }
    for (int fd = 0; fd <= 2; fd++) {
        if ((call->closed >> fd & 1) != 0)
            fprintf(out, fd == 0 ? " <&-" : " %d>&-", fd);
    }
    if (call->out_path != NULL)
        fprintf(out, strcmp(call->out_path, "|") == 0 ? " | true" : " >%s", call->out_path);
    if (call->ignored != 0)
        fprintf(out, " # SIG%s ignored", sigabbrev_np(call->ignored));
    if (call->signal != 0)
        fprintf(out, " # SIG%s after %lld us", sigabbrev_np(call->signal),
                (long long)call->delay_us);
    fclose(out);
    const char *text = text_of(input, "%s", line);
    free(line);
    return text;
}
