/* json.c - the encoder of JSON (RFC 8259). */
#include "writers/json.h"

#include "options/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REAL_DIGITS = 15, REAL_TEXT = 64 };

static bool has_lines(const struct json *json)
{
    return json->indent > 0 && json->flat == 0;
}

static void put_line(struct json *json)
{
    PUT_LITERAL(json->put, "\n");
    for (int i = 0; i < json->depth * json->indent; i++)
        PUT_LITERAL(json->put, " ");
}

/* Puts whatever comes before a value or a key: a comma behind the value before it, and a line.
 * Returns false for a value that is not to be written. */
static bool begin_value(struct json *json)
{
    const bool present = !json->absent;
    json->absent = false;
    if (json->keyed || !present) {
        json->keyed = false;
        return present;
    }
    if (json->filled)
        PUT_LITERAL(json->put, ",");
    if (has_lines(json) && json->depth > 0)
        put_line(json);
    json->filled = true;
    return true;
}

void json_open(struct json *json, char bracket)
{
    begin_value(json);
    put_bytes(json->put, &bracket, 1);
    json->depth++;
    json->filled = false;
}

void json_open_flat(struct json *json, char bracket)
{
    json_open(json, bracket);
    json->flat = json->depth;
}

void json_close(struct json *json, char bracket)
{
    json->depth--;
    if (json->filled && has_lines(json))
        put_line(json);
    if (json->depth < json->flat)
        json->flat = 0;
    put_bytes(json->put, &bracket, 1);
    json->filled = true;
}

static void put_quoted(struct json *json, const char *text)
{
    PUT_LITERAL(json->put, "\"");
    put_json_text(json->put, text, json->in_html);
    PUT_LITERAL(json->put, "\"");
}

struct json *json_key(struct json *json, const char *key)
{
    begin_value(json);
    put_quoted(json, key);
    put_string(json->put, has_lines(json) ? ": " : ":");
    json->keyed = true;
    return json;
}

struct json *json_key_of(struct json *json, const char *key, bool known)
{
    json_key(json, key);
    if (!known)
        json_put_null(json);
    json->absent = !known;
    return json;
}

void json_line(struct json *json)
{
    if (json->filled)
        PUT_LITERAL(json->put, ",");
    PUT_LITERAL(json->put, "\n");
    json->filled = false;
}

void json_put_text(struct json *json, const char *text)
{
    if (begin_value(json))
        put_quoted(json, text);
}

void json_put_integer(struct json *json, int64_t value)
{
    if (begin_value(json))
        put_integer(json->put, value);
}

/* Removes the sign and the zeros that printf() gives a small exponent: "1e-05" becomes "1e-5".
 */
static void shorten_exponent(char *text)
{
    char *exponent = strchr(text, 'e'), *from;
    if (exponent == NULL)
        return;
    exponent++;
    from = exponent;
    if (*from == '+')
        from++;
    else if (*from == '-')
        exponent = ++from;
    from += strspn(from, "0");
    memmove(exponent, from, strlen(from) + 1);
}

/* A whole number has a point as well, so that readers take it for a real one. */
void json_put_real(struct json *json, double value)
{
    char text[REAL_TEXT];
    if (!isfinite(value)) {
        json_put_null(json);
        return;
    }
    snprintf(text, sizeof text, "%.*g", REAL_DIGITS, value);
    shorten_exponent(text);
    json_put_raw(json, strpbrk(text, ".e") == NULL ? strcat(text, ".0") : text);
}

/* Readers have no larger integers than 2^63 - 1: a larger count goes as a real number. */
void json_put_count(struct json *json, uint64_t value)
{
    if (value <= INT64_MAX)
        json_put_integer(json, (int64_t)value);
    else
        json_put_real(json, (double)value);
}

void json_put_bool(struct json *json, bool value)
{
    json_put_raw(json, value ? "true" : "false");
}

void json_put_null(struct json *json)
{
    json_put_raw(json, "null");
}

void json_put_raw(struct json *json, const char *number)
{
    if (begin_value(json))
        put_string(json->put, number);
}

void json_put_ms(struct json *json, int64_t ns)
{
    json_put_real(json, (double)ns / 1e6);
}

void json_put_exact_ms(struct json *json, int64_t ns)
{
    if (!begin_value(json))
        return;
    char *at = put_reserve(json->put, 2 * WRITE_NUMBER_ROOM);
    uint64_t size = write_sign(&at, ns);
    at = write_count(at, size / 1000000);
    *at++ = '.';
    at = write_triple(at, (uint32_t)(size / 1000 % 1000));
    json->put->at = write_triple(at, (uint32_t)(size % 1000));
}

/* --- settings --- */

/* The options print whole numbers without a point and an exponent. */
static void put_number(struct json *json, const char *text)
{
    errno = 0;
    const bool whole = strpbrk(text, ".e") == NULL;
    const int64_t integer = whole ? strtoll(text, NULL, 10) : 0;
    if (!whole)
        json_put_real(json, strtod(text, NULL));
    else if (errno == ERANGE)
        json_put_text(json, text);
    else
        json_put_integer(json, integer);
}

static void put_setting(void *context, const char *name, const char *value,
                        enum value_kind kind)
{
    struct json *json = json_key(context, name);
    if (kind == VALUE_NULL)
        json_put_null(json);
    else if (kind == VALUE_BOOL)
        json_put_bool(json, strcmp(value, "true") == 0);
    else if (kind == VALUE_TEXT)
        json_put_text(json, value);
    else
        put_number(json, value);
}

void json_put_settings(struct json *json, const struct settings *settings)
{
    json_open(json, '{');
    settings_each(settings, put_setting, json);
    json_close(json, '}');
}
