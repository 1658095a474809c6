/* try_rewrite.c - see try.h. What only CUDA's compiler knows becomes C++: launches, and shared
 * memory whose size a launch says. */
#include "app/try.h"

#include "core/items.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A word, a number, a string, a character, or one mark such as `<`. */
struct token {
    uint32_t at, length;
    uint32_t line;              /* in the user's source */
    uint32_t file, file_length; /* where the name of that stands */
};

struct rewriter {
    const char *text;
    uint32_t length, copied; /* the text before this is in the output */
    struct token *tokens;
    uint32_t count;
    size_t token_room;
    char *out;
    size_t out_count, out_room;
    bool full;  /* memory ran out */
    bool casts; /* pipeline::address is declared: cuda_runtime.h has been read */
};

/* --- tokens --- */

static bool is_word(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_' || letter == '$' ||
           (unsigned char)letter >= 0x80;
}

static bool is(const struct rewriter *r, uint32_t i, const char *word)
{
    return i < r->count && r->tokens[i].length == strlen(word) &&
           memcmp(r->text + r->tokens[i].at, word, r->tokens[i].length) == 0;
}

static bool is_any(const struct rewriter *r, uint32_t i, const char *const *words)
{
    while (*words != NULL && !is(r, i, *words))
        words++;
    return *words != NULL;
}

static bool is_name(const struct rewriter *r, uint32_t i)
{
    const char first = i < r->count ? r->text[r->tokens[i].at] : '\0';
    return is_word(first) && !isdigit((unsigned char)first);
}

/* Returns where the string or character ends that `at` begins; a raw one with `raw`. */
static uint32_t string_end(const struct rewriter *r, uint32_t at, bool raw)
{
    const char quote = r->text[at];
    uint32_t mark = at + 1;
    while (raw && mark < r->length && r->text[mark] != '(' && r->text[mark] != '\n')
        mark++;
    const uint32_t delimiter = mark - at - 1;
    for (uint32_t end = raw ? mark : at + 1; end < r->length; end++) {
        if (raw && r->text[end] == ')' && end + delimiter + 1 < r->length &&
            memcmp(r->text + end + 1, r->text + at + 1, delimiter) == 0 &&
            r->text[end + delimiter + 1] == '"')
            return end + delimiter + 2;
        if (!raw && r->text[end] == quote)
            return end + 1;
        if (!raw && r->text[end] == '\n')
            return end;
        end += !raw && r->text[end] == '\\';
    }
    return r->length;
}

/* Returns where the word or number ends that `at` begins; 1'000 and 1e-5 are one. */
static uint32_t word_end(const struct rewriter *r, uint32_t at)
{
    const bool number = isdigit((unsigned char)r->text[at]);
    uint32_t end = at + 1;
    for (; end < r->length; end++) {
        const char letter = r->text[end], before = r->text[end - 1];
        const bool part =
            letter == '.' ||
            (letter == '\'' && end + 1 < r->length && is_word(r->text[end + 1])) ||
            ((letter == '+' || letter == '-') && strchr("eEpP", before) != NULL);
        if (!is_word(letter) && !(number && part))
            break;
    }
    return end;
}

/* Returns where the comment or line ends that `at` begins; `at` where none does. */
static uint32_t blank_end(const struct rewriter *r, uint32_t at, bool line_begins)
{
    const char *text = r->text + at, *end = NULL;
    const size_t left = r->length - at;
    if (left > 1 && text[0] == '/' && text[1] == '*')
        end = memmem(text + 2, left - 2, "*/", 2);
    else if ((text[0] == '#' && line_begins) || (left > 1 && text[0] == '/' && text[1] == '/'))
        end = memchr(text, '\n', left);
    else
        return at;
    return end == NULL ? r->length : (uint32_t)(end - r->text) + (*end == '*' ? 2 : 0);
}

/* Takes the place that a line `# 12 "saxpy.cu"` says the next one has. */
static void take_marker(const char *text, uint32_t at, uint32_t end, struct token *place)
{
    char *behind = NULL;
    const unsigned long line = strtoul(text + at + 1, &behind, 10);
    const size_t name = (size_t)(behind + 2 - text);
    const char *quote = NULL;
    if (behind[0] == ' ' && name < end && behind[1] == '"')
        quote = memchr(text + name, '"', end - name);
    if (quote == NULL)
        return;
    place->line = (uint32_t)line - 1; /* the newline counts */
    place->file = (uint32_t)name;
    place->file_length = (uint32_t)(quote - text - (ptrdiff_t)name);
}

static bool tokenize(struct rewriter *r)
{
    struct token place = {.line = 1};
    bool line_begins = true;
    for (uint32_t at = 0; at < r->length;) {
        const char letter = r->text[at];
        uint32_t end = blank_end(r, at, line_begins);
        if (end > at || isspace((unsigned char)letter)) {
            if (letter == '#')
                take_marker(r->text, at, end, &place);
            for (end += end == at; at < end; at++) {
                line_begins = r->text[at] == '\n' || (line_begins && letter != '/');
                place.line += r->text[at] == '\n';
            }
            continue;
        }
        line_begins = false;
        if (letter == '"' || letter == '\'') {
            struct token *last = r->count > 0 ? &r->tokens[r->count - 1] : NULL;
            const bool raw = letter == '"' && last != NULL && last->at + last->length == at &&
                             r->text[at - 1] == 'R' && last->length <= 3;
            end = string_end(r, at, raw);
        } else {
            end = is_word(letter) ? word_end(r, at) : at + 1;
        }
        if (!ITEMS_ROOM(r->tokens, r->count, r->token_room))
            return false;
        place.at = at;
        place.length = end - at;
        r->tokens[r->count++] = place;
        for (; at < end; at++)
            place.line += r->text[at] == '\n';
    }
    return true;
}

/* Returns the mark that closes the bracket at `i`, or `count`. */
static uint32_t match(const struct rewriter *r, uint32_t i)
{
    int depth = 0;
    for (; i < r->count; i++) {
        const char letter = r->text[r->tokens[i].at];
        depth += letter == '(' || letter == '[' || letter == '{';
        depth -= letter == ')' || letter == ']' || letter == '}';
        if (depth <= 0)
            return i;
    }
    return i;
}

/* Returns the mark that opens the bracket which `i` closes, or `count`. */
static uint32_t match_back(const struct rewriter *r, uint32_t i)
{
    int depth = 0;
    for (uint32_t back = i + 1; back > 0; back--) {
        const char letter = r->text[r->tokens[back - 1].at];
        depth += letter == ')' || letter == ']' || letter == '}';
        depth -= letter == '(' || letter == '[' || letter == '{';
        if (depth <= 0)
            return back - 1;
    }
    return r->count;
}

/* Returns the `<` of the template's arguments that the `>` at `i` ends, or `count`. */
static uint32_t match_angle(const struct rewriter *r, uint32_t i)
{
    int depth = 0;
    for (uint32_t back = i; back > 0 && back < r->count; back--) {
        if (is(r, back, ")") || is(r, back, "]") || is(r, back, "}"))
            back = match_back(r, back);
        else if (is(r, back, ";") || is(r, back, "{") || is(r, back, "("))
            break;
        else if (is(r, back, ">") && !is(r, back - 1, "-"))
            depth++;
        else if (is(r, back, "<") && --depth == 0)
            return back;
    }
    return r->count;
}

/* --- output --- */

static void put(struct rewriter *r, const char *text, size_t length)
{
    for (size_t i = 0; i < length && !r->full; i++) {
        if (ITEMS_ROOM(r->out, r->out_count, r->out_room))
            r->out[r->out_count++] = text[i];
        else
            r->full = true;
    }
}

static void put_text(struct rewriter *r, const char *text)
{
    put(r, text, strlen(text));
}

/* Puts the tokens of [from, to) on one line; as part of a string with `quoted`. */
static void put_line(struct rewriter *r, uint32_t from, uint32_t to, bool quoted)
{
    for (uint32_t i = from; i < to; i++) {
        const struct token *token = &r->tokens[i];
        if (i > from && token[-1].at + token[-1].length < token->at)
            put(r, " ", 1);
        for (uint32_t k = 0; k < token->length; k++) {
            const char letter = r->text[token->at + k];
            if (quoted && (letter == '"' || letter == '\\'))
                put(r, "\\", 1);
            put(r, &letter, 1);
        }
    }
}

static void put_file(struct rewriter *r, const struct token *token)
{
    put_text(r, "\"");
    put(r, r->text + token->file, token->file_length);
    put_text(r, "\"");
}

/* Goes on with a token where the user's source has it, in line and column: whatever a compiler
 * says of what follows points there. */
static void go_on_at(struct rewriter *r, uint32_t i)
{
    if (i >= r->count) { /* nothing follows in a text that was cut */
        r->copied = r->length;
        return;
    }
    const struct token *token = &r->tokens[i];
    char line[16];
    uint32_t column = token->at;
    while (column > 0 && r->text[column - 1] != '\n')
        column--;
    snprintf(line, sizeof line, "\n# %" PRIu32 " ", token->line);
    put_text(r, line);
    put_file(r, token);
    put_text(r, "\n");
    for (; column < token->at; column++)
        put(r, " ", 1);
    r->copied = token->at;
}

static void copy_to(struct rewriter *r, uint32_t at)
{
    put(r, r->text + r->copied, at - r->copied);
    r->copied = at;
}

static enum status refuse(const struct rewriter *r, uint32_t i, const char *what,
                          struct error *error)
{
    const struct token *token = &r->tokens[i];
    return error_set(error, STATUS_USAGE, "%.*s:%" PRIu32 ": %s", (int)token->file_length,
                     r->text + token->file, token->line, what);
}

/* --- launches --- */

static bool is_keyword(const struct rewriter *r, uint32_t i)
{
    static const char *const words[] = {"return", "else",   "do",   "if", "while",
                                        "for",    "switch", "case", NULL};
    return is_any(r, i, words);
}

/* Returns true if `i` can be the last token of what a call's brackets, an index or a member
 * stands behind. */
static bool is_postfix(const struct rewriter *r, uint32_t i)
{
    return (is_name(r, i) && !is_keyword(r, i)) || is(r, i, ">") || is(r, i, "]");
}

/* Returns the first token of the `::`, `.` or `->` in front of a name that begins at `i`; `i`
 * where there is none. */
static uint32_t joint_begin(const struct rewriter *r, uint32_t i)
{
    const uint32_t name = i > 0 && is(r, i - 1, "template") ? i - 1 : i;
    if (name > 0 && is(r, name - 1, "."))
        return name - 1;
    if (name > 1 && ((is(r, name - 1, ":") && is(r, name - 2, ":")) ||
                     (is(r, name - 1, ">") && is(r, name - 2, "-"))))
        return name - 2;
    return i;
}

/* Returns the first token of the kernel's name, or of the expression that is one, which ends
 * before `mark`; `mark` where there is none. It goes back over what may stand behind a name:
 * a::b<c>, (*d)(e), f[g], h->i. */
static uint32_t kernel_begin(const struct rewriter *r, uint32_t mark)
{
    for (uint32_t begin = mark; begin > 0;) {
        const uint32_t last = begin - 1;
        if (is(r, last, ">") || is(r, last, "]") || is(r, last, ")")) {
            begin = is(r, last, ">") ? match_angle(r, last) : match_back(r, last);
            if (begin == r->count)
                return mark;
            if (is(r, last, ")") && (begin == 0 || !is_postfix(r, begin - 1)))
                return begin;
            continue;
        }
        const uint32_t joint = joint_begin(r, last);
        if (!is_name(r, last) || is_keyword(r, last))
            return mark;
        begin = joint;
        if (joint == last)
            return last;
        const bool more = joint > 0 && (is_postfix(r, joint - 1) ||
                                        (is(r, joint - 1, ")") && !is(r, joint, ":")));
        if (!more)
            return is(r, joint, ":") ? joint : mark;
    }
    return mark;
}

/* Returns the first of the `>>>` that ends what the `<<<` before `i` begins; `count`: none. */
static uint32_t configuration_end(const struct rewriter *r, uint32_t i)
{
    for (; i + 3 < r->count; i++) {
        if (is(r, i, "(") || is(r, i, "[") || is(r, i, "{"))
            i = match(r, i);
        else if (is(r, i, ")") || is(r, i, "]") || is(r, i, "}") || is(r, i, ";"))
            break;
        else if (is(r, i, ">") && is(r, i + 1, ">") && is(r, i + 2, ">") && is(r, i + 3, "("))
            return i;
    }
    return r->count;
}

static bool is_launch(const struct rewriter *r, uint32_t i)
{
    return is(r, i, "<") && is(r, i + 1, "<") && is(r, i + 2, "<") && i > 0 &&
           !is(r, i - 1, "operator");
}

/* Rewrites the launch whose `<<<` begins at *i, and sets that to its arguments. */
static enum status rewrite_launch(struct rewriter *r, uint32_t *i, struct error *error)
{
    const uint32_t mark = *i, begin = kernel_begin(r, mark), inner = mark + 3,
                   end = configuration_end(r, inner);
    char line[16];
    if (begin == mark || r->tokens[begin].at < r->copied)
        return refuse(r, mark, "no kernel stands before <<<", error);
    if (end == r->count || match(r, end + 3) >= r->count)
        return refuse(r, mark,
                      "a launch is kernel<<<grid, block>>>(arguments), and there is no >>> "
                      "with its arguments behind this <<<",
                      error);
    if (end == inner)
        return refuse(r, mark, "a launch needs a grid and a block: <<<grid, block>>>", error);
    copy_to(r, r->tokens[begin].at);
    put_text(r, "::pipeline::configured(\"");
    put_line(r, begin, mark, true);
    put_text(r, "\", ");
    put_file(r, &r->tokens[mark]);
    snprintf(line, sizeof line, ", %" PRIu32 ", ", r->tokens[mark].line);
    put_text(r, line);
    go_on_at(r, inner);
    copy_to(r, r->tokens[end].at);
    put_text(r, ")([=](auto... pipeline_a) -> decltype(");
    put_line(r, begin, mark, false);
    put_text(r, "(pipeline_a...)) {");
    go_on_at(r, begin);
    put_line(r, begin, mark, false);
    put_text(r, "(pipeline_a...); })");
    go_on_at(r, end + 3);
    *i = end + 3;
    return STATUS_OK;
}

/* --- shared memory --- */

/* Rewrites `extern __shared__ T name[];`, which begins at *i, and sets that to its end. What
 * cuda_runtime.h makes of __shared__ has `static` in it, as no other `extern` has. */
static void rewrite_shared(struct rewriter *r, uint32_t *i)
{
    static const char *const marks[] = {"extern", "static", "thread_local", "__thread", NULL};
    static const char *const aligning[] = {"alignas", "__attribute__", "__align__", NULL};
    const uint32_t begin = *i;
    uint32_t end = begin, open = 0;
    bool shared = false;
    for (; end < r->count && !is(r, end, ";") && !is(r, end, "{"); end++) {
        shared |= is(r, end, "static");
        if (is(r, end, "(") || is(r, end, "["))
            open = is(r, end, "[") && open == 0 ? end : open;
        if (is(r, end, "("))
            end = match(r, end);
    }
    if (!shared || !is(r, end, ";") || open < begin + 2 || !is_name(r, open - 1))
        return;
    const bool rows = match(r, open) + 1 < end; /* s[][32] */
    copy_to(r, r->tokens[begin].at);
    for (int half = 0; half < 2; half++) {
        put_text(r, half == 0 ? "" : " = (");
        for (uint32_t k = begin; k < open - 1; k++) {
            if (is_any(r, k, marks))
                continue;
            if (is_any(r, k, aligning)) {
                k = match(r, k + 1);
                continue;
            }
            put_line(r, k, k + 1, false);
            put(r, " ", 1);
        }
        put_text(r, rows ? "(*" : "*");
        put_line(r, open - 1, half == 0 ? open : open - 1, false);
        put_text(r, rows ? ")" : "");
        put_line(r, match(r, open) + 1, end, false);
    }
    put_text(r, ")pipeline_shared()");
    go_on_at(r, end);
    *i = end;
}

/* --- addresses of kernels --- */

/* Returns the token behind `void *` that begins at `i`; `i` where there is none. */
static uint32_t void_end(const struct rewriter *r, uint32_t i)
{
    const uint32_t type = is(r, i, "const") ? i + 1 : i;
    return is(r, type, "void") && is(r, type + 1, "*") ? type + 2 : i;
}

/* Rewrites a cast to `void *` that begins at *i, and sets that to its last token: a kernel's
 * address is all that some calls get of it. */
static void rewrite_cast(struct rewriter *r, uint32_t *i)
{
    const uint32_t begin = *i;
    const bool named = is(r, begin, "reinterpret_cast");
    const uint32_t type = begin + (named ? 2 : 1), end = void_end(r, type);
    const bool operand = is_name(r, end + 1) || is(r, end + 1, "&");
    const struct token *token = &r->tokens[begin];
    if (end == type || !is(r, end, named ? ">" : ")") ||
        memcmp(r->text + token->file, "/usr/", 5) == 0)
        return;
    if (!named && (!operand || begin == 0 || is_postfix(r, begin - 1) ||
                   is(r, begin - 1, ")") || is(r, begin - 1, "!") || is(r, begin - 1, "*")))
        return;
    copy_to(r, token->at);
    put_text(r, "::pipeline::address<");
    put_line(r, type, end, false);
    put_text(r, named ? ">{}" : ">{}->*");
    go_on_at(r, end + 1);
    *i = end;
}

/* --- all of it --- */

static enum status rewrite(struct rewriter *r, struct error *error)
{
    enum status status = STATUS_OK;
    uint32_t arguments = 0; /* a launch's end here */
    for (uint32_t i = 0; i < r->count && status == STATUS_OK; i++) {
        if (is_launch(r, i)) {
            status = rewrite_launch(r, &i, error);
            arguments = status == STATUS_OK ? match(r, i) : 0;
        } else if (is(r, i, "extern")) {
            rewrite_shared(r, &i);
        } else if (is(r, i, "address") && i > 0 && is(r, i - 1, "struct")) {
            r->casts = true;
        } else if (r->casts && (is(r, i, "(") || is(r, i, "reinterpret_cast"))) {
            rewrite_cast(r, &i);
        } else if (i < arguments && is(r, i, "__null")) {
            /* NULL is passed on by value, and stays a pointer only so. */
            copy_to(r, r->tokens[i].at);
            put_text(r, "nullptr");
            r->copied += r->tokens[i].length;
        }
    }
    copy_to(r, r->length);
    return status;
}

enum status try_rewrite(const char *text, size_t length, char **rewritten, size_t *bytes,
                        struct error *error)
{
    struct rewriter r = {.text = text, .length = (uint32_t)length};
    if (length >= UINT32_MAX)
        return error_set(error, STATUS_USAGE, "the source has more than 4 GiB");
    enum status status = STATUS_OK;
    if (!tokenize(&r))
        r.full = true;
    else
        status = rewrite(&r, error);
    if (r.full)
        status = error_no_memory(error, "to compile the program");
    free(r.tokens);
    if (status != STATUS_OK) {
        free(r.out);
        return status;
    }
    *rewritten = r.out;
    *bytes = r.out_count;
    return STATUS_OK;
}
