/* try_rewrite.c - see try.h. What only CUDA's compiler knows becomes C++: launches, and shared
 * memory whose size a launch says. */
#include "app/try.h"
#include "app/try_tokens.h"

#include "core/items.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct rewriter {
    struct tokens in;
    uint32_t copied; /* the text before this is in the output */
    char *out;
    size_t out_count, out_room;
    bool full;  /* memory ran out */
    bool casts; /* pipeline_address is declared: cuda_runtime.h has been read */
};

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
    const struct tokens *t = &r->in;
    for (uint32_t i = from; i < to; i++) {
        const struct token *token = &t->items[i];
        if (i > from && token[-1].at + token[-1].length < token->at)
            put(r, " ", 1);
        for (uint32_t k = 0; k < token->length; k++) {
            const char letter = t->text[token->at + k];
            if (quoted && (letter == '"' || letter == '\\'))
                put(r, "\\", 1);
            put(r, &letter, 1);
        }
    }
}

static void put_file(struct rewriter *r, const struct token *token)
{
    const struct tokens *t = &r->in;
    put_text(r, "\"");
    put(r, t->text + token->file, token->file_length);
    put_text(r, "\"");
}

/* Goes on with a token where the user's source has it, in line and column: whatever a compiler
 * says of what follows points there. */
static void go_on_at(struct rewriter *r, uint32_t i)
{
    const struct tokens *t = &r->in;
    if (i >= t->count) { /* nothing follows in a text that was cut */
        r->copied = t->length;
        return;
    }
    const struct token *token = &t->items[i];
    char line[16];
    uint32_t column = token->at;
    while (column > 0 && t->text[column - 1] != '\n')
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
    const struct tokens *t = &r->in;
    put(r, t->text + r->copied, at - r->copied);
    r->copied = at;
}

static enum status refuse(const struct tokens *t, uint32_t i, const char *what,
                          struct error *error)
{
    const struct token *token = &t->items[i];
    return error_set(error, STATUS_USAGE, "%.*s:%" PRIu32 ": %s", (int)token->file_length,
                     t->text + token->file, token->line, what);
}

/* --- launches --- */

static bool is_keyword(const struct tokens *t, uint32_t i)
{
    static const char *const words[] = {"return", "else",   "do",   "if", "while",
                                        "for",    "switch", "case", NULL};
    return token_is_any(t, i, words);
}

/* Returns true if `i` can be the last token of what a call's brackets, an index or a member
 * stands behind. */
static bool is_postfix(const struct tokens *t, uint32_t i)
{
    return (token_is_name(t, i) && !is_keyword(t, i)) || token_is(t, i, ">") ||
           token_is(t, i, "]");
}

/* Returns the first token of the `::`, `.` or `->` in front of a name that begins at `i`; `i`
 * where there is none. */
static uint32_t joint_begin(const struct tokens *t, uint32_t i)
{
    const uint32_t name = i > 0 && token_is(t, i - 1, "template") ? i - 1 : i;
    if (name > 0 && token_is(t, name - 1, "."))
        return name - 1;
    if (name > 1 && ((token_is(t, name - 1, ":") && token_is(t, name - 2, ":")) ||
                     (token_is(t, name - 1, ">") && token_is(t, name - 2, "-"))))
        return name - 2;
    return i;
}

/* Returns the first token of the kernel's name, or of the expression that is one, which ends
 * before `mark`; `mark` where there is none. It goes back over what may stand behind a name:
 * a::b<c>, (*d)(e), f[g], h->i. */
static uint32_t kernel_begin(const struct tokens *t, uint32_t mark)
{
    for (uint32_t begin = mark; begin > 0;) {
        const uint32_t last = begin - 1;
        if (token_is(t, last, ">") || token_is(t, last, "]") || token_is(t, last, ")")) {
            begin = token_is(t, last, ">") ? tokens_angle(t, last) : tokens_begin(t, last);
            if (begin == t->count)
                return mark;
            if (token_is(t, last, ")") && (begin == 0 || !is_postfix(t, begin - 1)))
                return begin;
            continue;
        }
        const uint32_t joint = joint_begin(t, last);
        if (!token_is_name(t, last) || is_keyword(t, last))
            return mark;
        begin = joint;
        if (joint == last)
            return last;
        const bool more =
            joint > 0 && (is_postfix(t, joint - 1) ||
                          (token_is(t, joint - 1, ")") && !token_is(t, joint, ":")));
        if (!more)
            return token_is(t, joint, ":") ? joint : mark;
    }
    return mark;
}

/* Returns the first of the `>>>` that ends what the `<<<` before `i` begins; `count`: none. */
static uint32_t configuration_end(const struct tokens *t, uint32_t i)
{
    for (; i + 3 < t->count; i++) {
        if (token_is(t, i, "(") || token_is(t, i, "[") || token_is(t, i, "{"))
            i = tokens_end(t, i);
        else if (token_is(t, i, ")") || token_is(t, i, "]") || token_is(t, i, "}") ||
                 token_is(t, i, ";"))
            break;
        else if (token_is(t, i, ">") && token_is(t, i + 1, ">") && token_is(t, i + 2, ">") &&
                 token_is(t, i + 3, "("))
            return i;
    }
    return t->count;
}

static bool is_launch(const struct tokens *t, uint32_t i)
{
    return token_is(t, i, "<") && token_is(t, i + 1, "<") && token_is(t, i + 2, "<") && i > 0 &&
           !token_is(t, i - 1, "operator");
}

/* Rewrites the launch whose `<<<` begins at *i, and sets that to its arguments. */
static enum status rewrite_launch(struct rewriter *r, uint32_t *i, struct error *error)
{
    const struct tokens *t = &r->in;
    const uint32_t mark = *i, begin = kernel_begin(t, mark), inner = mark + 3,
                   end = configuration_end(t, inner);
    char line[16];
    if (begin == mark || t->items[begin].at < r->copied)
        return refuse(t, mark, "no kernel stands before <<<", error);
    if (end == t->count || tokens_end(t, end + 3) >= t->count)
        return refuse(t, mark,
                      "a launch is kernel<<<grid, block>>>(arguments), and there is no >>> "
                      "with its arguments behind this <<<",
                      error);
    if (end == inner)
        return refuse(t, mark, "a launch needs a grid and a block: <<<grid, block>>>", error);
    copy_to(r, t->items[begin].at);
    put_text(r, "::pipeline::configured(\"");
    put_line(r, begin, mark, true);
    put_text(r, "\", ");
    put_file(r, &t->items[mark]);
    snprintf(line, sizeof line, ", %" PRIu32 ", ", t->items[mark].line);
    put_text(r, line);
    go_on_at(r, inner);
    copy_to(r, t->items[end].at);
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
    const struct tokens *t = &r->in;
    static const char *const marks[] = {"extern", "static", "thread_local", "__thread", NULL};
    static const char *const aligning[] = {"alignas", "__attribute__", "__align__", NULL};
    const uint32_t begin = *i;
    uint32_t end = begin, open = 0;
    bool shared = false;
    for (; end < t->count && !token_is(t, end, ";") && !token_is(t, end, "{"); end++) {
        shared |= token_is(t, end, "static");
        if (token_is(t, end, "(") || token_is(t, end, "["))
            open = token_is(t, end, "[") && open == 0 ? end : open;
        if (token_is(t, end, "("))
            end = tokens_end(t, end);
    }
    if (!shared || !token_is(t, end, ";") || open < begin + 2 || !token_is_name(t, open - 1))
        return;
    const bool rows = tokens_end(t, open) + 1 < end; /* s[][32] */
    copy_to(r, t->items[begin].at);
    for (int half = 0; half < 2; half++) {
        put_text(r, half == 0 ? "" : " = (");
        for (uint32_t k = begin; k < open - 1; k++) {
            if (token_is_any(t, k, marks))
                continue;
            if (token_is_any(t, k, aligning)) {
                k = tokens_end(t, k + 1);
                continue;
            }
            put_line(r, k, k + 1, false);
            put(r, " ", 1);
        }
        put_text(r, rows ? "(*" : "*");
        put_line(r, open - 1, half == 0 ? open : open - 1, false);
        put_text(r, rows ? ")" : "");
        put_line(r, tokens_end(t, open) + 1, end, false);
    }
    put_text(r, ")pipeline_shared()");
    go_on_at(r, end);
    *i = end;
}

/* --- addresses of kernels --- */

/* Returns the token behind `void *` that begins at `i`; `i` where there is none. */
static uint32_t void_end(const struct tokens *t, uint32_t i)
{
    const uint32_t type = token_is(t, i, "const") ? i + 1 : i;
    return token_is(t, type, "void") && token_is(t, type + 1, "*") ? type + 2 : i;
}

/* Rewrites a cast to `void *` that begins at *i, and sets that to its last token: a kernel's
 * address is all that some calls get of it. */
static void rewrite_cast(struct rewriter *r, uint32_t *i)
{
    const struct tokens *t = &r->in;
    const uint32_t begin = *i;
    const bool named = token_is(t, begin, "reinterpret_cast");
    const uint32_t type = begin + (named ? 2 : 1), end = void_end(t, type);
    const bool operand = token_is_name(t, end + 1) || token_is(t, end + 1, "&");
    const struct token *token = &t->items[begin];
    if (end == type || !token_is(t, end, named ? ">" : ")") ||
        memcmp(t->text + token->file, "/usr/", 5) == 0)
        return;
    if (!named &&
        (!operand || begin == 0 || is_postfix(t, begin - 1) || token_is(t, begin - 1, ")") ||
         token_is(t, begin - 1, "!") || token_is(t, begin - 1, "*")))
        return;
    copy_to(r, token->at);
    put_text(r, "::pipeline_address<");
    put_line(r, type, end, false);
    put_text(r, named ? ">{}" : ">{}->*");
    go_on_at(r, end + 1);
    *i = end;
}

/* --- all of it --- */

static enum status rewrite(struct rewriter *r, struct error *error)
{
    const struct tokens *t = &r->in;
    enum status status = STATUS_OK;
    uint32_t arguments = 0; /* a launch's end here */
    for (uint32_t i = 0; i < t->count && status == STATUS_OK; i++) {
        if (is_launch(t, i)) {
            status = rewrite_launch(r, &i, error);
            arguments = status == STATUS_OK ? tokens_end(t, i) : 0;
        } else if (token_is(t, i, "extern")) {
            rewrite_shared(r, &i);
        } else if (token_is(t, i, "pipeline_address")) {
            r->casts = true;
        } else if (r->casts && (token_is(t, i, "(") || token_is(t, i, "reinterpret_cast"))) {
            rewrite_cast(r, &i);
        } else if (i < arguments && token_is(t, i, "__null")) {
            /* NULL is passed on by value, and stays a pointer only so. */
            copy_to(r, t->items[i].at);
            put_text(r, "nullptr");
            r->copied += t->items[i].length;
        }
    }
    copy_to(r, t->length);
    return status;
}

enum status try_rewrite(const char *text, size_t length, char **rewritten, size_t *bytes,
                        struct error *error)
{
    struct rewriter r = {.in = {.text = text, .length = (uint32_t)length}};
    if (length >= UINT32_MAX)
        return error_set(error, STATUS_USAGE, "the source has more than 4 GiB");
    enum status status = STATUS_OK;
    if (!tokens_read(&r.in))
        r.full = true;
    else
        status = rewrite(&r, error);
    if (r.full)
        status = error_no_memory(error, "to compile the program");
    free(r.in.items);
    if (status != STATUS_OK) {
        free(r.out);
        return status;
    }
    *rewritten = r.out;
    *bytes = r.out_count;
    return STATUS_OK;
}
