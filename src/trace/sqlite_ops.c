/* sqlite_ops.c - what ran, from the tables of a database: kernels, copies, memsets and graphs.
 */
#include "trace/build.h"
#include "trace/sqlite_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    QUERY_TEXT = 2048,
    KIND_PAGEABLE = 0, /* of ENUM_CUDA_MEM_KIND */
    KIND_PINNED = 1,
    KIND_H2D = 1, /* of ENUM_CUDA_MEMCPY_OPER */
    KIND_D2H = 2,
};

/* What every query asks for, in this order: a column of the table, or what stands for it where
 * the table lacks it. */
enum field {
    START,
    END,
    DEVICE,
    CONTEXT,
    STREAM,
    BYTES,
    KIND,
    FROM,
    TO,
    CORRELATION,
    PROCESS,
    NODE,
    GRID,
    BLOCK = GRID + 3,
    REGISTERS = BLOCK + 3,
    SHARED,
    SHARED_MORE,
    COLUMNS,
    NAME = COLUMNS /* which stands in another table */
};
static const struct {
    const char *name, *instead;
} columns[COLUMNS] = {
    [START] = {"start", "NULL"},
    [END] = {"end", "NULL"},
    [DEVICE] = {"deviceId", "0"},
    [CONTEXT] = {"contextId", "0"},
    [STREAM] = {"streamId", "0"},
    [BYTES] = {"bytes", "0"},
    [KIND] = {"copyKind", "NULL"},
    [FROM] = {"srcKind", "NULL"},
    [TO] = {"dstKind", "NULL"},
    [CORRELATION] = {"correlationId", "NULL"},
    [PROCESS] = {"globalPid", "NULL"},
    [NODE] = {"graphNodeId", "0"},
    [GRID] = {"gridX", "0"},
    [GRID + 1] = {"gridY", "1"},
    [GRID + 2] = {"gridZ", "1"},
    [BLOCK] = {"blockX", "0"},
    [BLOCK + 1] = {"blockY", "1"},
    [BLOCK + 2] = {"blockZ", "1"},
    [REGISTERS] = {"registersPerThread", "0"},
    [SHARED] = {"staticSharedMemory", "0"},
    [SHARED_MORE] = {"dynamicSharedMemory", "0"},
};

/* --- queries --- */

/* A table that rows are read from: kernels, copies, memory that is set. */
struct source {
    const char *table, *what;
    const char *names[3]; /* columns with the number of a name, best first; else `what` */
};
static const struct source sources[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", "[kernel]", {"demangledName", "shortName", NULL}},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", "[CUDA memcpy]", {NULL}},
    {"CUPTI_ACTIVITY_KIND_MEMSET", "[CUDA memset]", {NULL}},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "[CUDA graph]", {NULL}}, /* each as a whole */
};
enum { SOURCES = sizeof sources / sizeof sources[0] };

/* Returns the column with the number of a row's name in StringIds; NULL: there is none. */
static const char *name_column(const struct sqlite_trace *database, const struct source *source)
{
    const char *const *name = source->names;
    while (*name != NULL && !sqlite_has(database, source->table, *name))
        name++;
    return sqlite_has(database, "StringIds", NULL) ? *name : NULL;
}

static void make_query(const struct sqlite_trace *database, const struct source *source,
                       char query[QUERY_TEXT])
{
    const char *name = name_column(database, source);
    size_t used = (size_t)snprintf(query, QUERY_TEXT, "SELECT ");
    for (int i = 0; i < COLUMNS; i++) {
        const bool there = sqlite_has(database, source->table, columns[i].name);
        used += (size_t)snprintf(query + used, QUERY_TEXT - used, "%s%s, ", there ? "t." : "",
                                 there ? columns[i].name : columns[i].instead);
    }
    snprintf(query + used, QUERY_TEXT - used, "(%s%s) FROM %s AS t",
             name != NULL ? "SELECT value FROM StringIds WHERE id = t." : "NULL",
             name != NULL ? name : "", source->table);
}

/* --- rows --- */

/* Returns the number of a row's process: where it is not said, the first that is known. */
static uint32_t process_of(struct sqlite_trace *database, sqlite3_stmt *statement)
{
    return sqlite3_column_type(statement, PROCESS) == SQLITE_INTEGER
               ? sqlite_host_process(database, sqlite3_column_int64(statement, PROCESS))
               : 0;
}

/* Returns the call of a row's op; DRAFT_NO_CALL: none is known. */
static uint64_t call_of(const struct sqlite_trace *database, sqlite3_stmt *statement,
                        uint32_t process)
{
    const bool told = sqlite3_column_type(statement, PROCESS) == SQLITE_INTEGER;
    return sqlite3_column_type(statement, CORRELATION) == SQLITE_INTEGER &&
                   database->by_process == told
               ? profiled_id(process, (uint64_t)sqlite3_column_int64(statement, CORRELATION))
               : DRAFT_NO_CALL;
}

/* Returns the product of three sizes, in columns from `first` on; 0: one is not known. */
static uint32_t product_of(sqlite3_stmt *statement, enum field first)
{
    uint64_t product = 1;
    for (int i = 0; i < 3; i++) {
        const int64_t size = sqlite3_column_int64(statement, (int)first + i);
        if (size <= 0)
            return 0;
        if (__builtin_mul_overflow(product, (uint64_t)size, &product) || product > UINT32_MAX)
            product = UINT32_MAX;
    }
    return (uint32_t)product;
}

static enum host_memory memory_of(sqlite3_stmt *statement)
{
    const int64_t copy = sqlite3_column_int64(statement, KIND);
    const enum field side = copy == KIND_H2D ? FROM : TO;
    if ((copy != KIND_H2D && copy != KIND_D2H) ||
        sqlite3_column_type(statement, side) != SQLITE_INTEGER)
        return HOST_MEMORY_UNKNOWN;
    const int64_t kind = sqlite3_column_int64(statement, side);
    return kind == KIND_PAGEABLE ? HOST_MEMORY_PAGEABLE
           : kind == KIND_PINNED ? HOST_MEMORY_PINNED
                                 : HOST_MEMORY_UNKNOWN;
}

/* Returns the name of a kind of copy, by ENUM_CUDA_MEMCPY_OPER ("CUDA copy kind enum" of the
 * schema reference). */
static const char *copy_name(int64_t kind)
{
    static const char *const names[] = {
        "[CUDA memcpy]",
        "[CUDA memcpy Host-to-Device]",
        "[CUDA memcpy Device-to-Host]",
        "[CUDA memcpy Host-to-Array]",
        "[CUDA memcpy Array-to-Host]",
        "[CUDA memcpy Array-to-Array]",
        "[CUDA memcpy Array-to-Device]",
        "[CUDA memcpy Device-to-Array]",
        "[CUDA memcpy Device-to-Device]",
        "[CUDA memcpy Host-to-Host]",
        "[CUDA memcpy Peer-to-Peer]",
        "[CUDA memcpy Unified Host-to-Device]",
        "[CUDA memcpy Unified Device-to-Host]",
        "[CUDA memcpy Unified Device-to-Device]",
    };
    bool known = kind > 0 && kind < (int64_t)(sizeof names / sizeof names[0]);
    return names[known ? kind : 0];
}

static void refuse_row(const struct sqlite_trace *database, const char *why)
{
    char text[256];
    snprintf(text, sizeof text, "table %s, row %" PRIu64 ": %.160s", database->table,
             database->row, why);
    sqlite_refuse(database, text);
}

/* Returns what is wrong with a row's numbers, or NULL. */
static const char *complaint(sqlite3_stmt *statement)
{
    if (sqlite3_column_type(statement, START) != SQLITE_INTEGER ||
        sqlite3_column_type(statement, END) != SQLITE_INTEGER)
        return "start and end are no whole numbers";
    if (sqlite3_column_int64(statement, START) < 0)
        return "start is negative";
    if (sqlite3_column_int64(statement, END) < sqlite3_column_int64(statement, START))
        return "it ends before it starts";
    if (sqlite3_column_int64(statement, BYTES) < 0)
        return "bytes are negative";
    int64_t stream = sqlite3_column_int64(statement, STREAM);
    int64_t context = sqlite3_column_int64(statement, CONTEXT);
    if (stream < 0 || stream > UINT32_MAX || context < 0 || context > UINT32_MAX)
        return "streamId or contextId is no id";
    return NULL;
}

static void add_row(struct sqlite_trace *database, sqlite3_stmt *statement)
{
    const char *wrong = complaint(statement);
    if (wrong != NULL) {
        refuse_row(database, wrong);
        return;
    }
    const bool copy = sqlite3_column_type(statement, KIND) != SQLITE_NULL;
    const char *name = copy ? copy_name(sqlite3_column_int64(statement, KIND))
                            : sqlite_text_or(statement, NAME, database->what);
    const int64_t device = sqlite3_column_int64(statement, DEVICE);
    const uint32_t process = process_of(database, statement);
    const uint32_t stream = profiled_stream(
        &database->profiled, process, (uint64_t)sqlite3_column_int64(statement, CONTEXT),
        device >= 0 && device < INT32_MAX ? (uint32_t)device : 0,
        (uint32_t)sqlite3_column_int64(statement, STREAM));
    struct recorded_op *op =
        profiled_op(&database->profiled, call_of(database, statement, process), name, stream);
    op->start_ns = sqlite3_column_int64(statement, START);
    op->end_ns = sqlite3_column_int64(statement, END);
    op->bytes = (uint64_t)sqlite3_column_int64(statement, BYTES);
    op->from = op->to = (uint8_t)memory_of(statement);
    op->node = (uint64_t)sqlite3_column_int64(statement, NODE);
    op->blocks = product_of(statement, GRID);
    op->need.threads = product_of(statement, BLOCK);
    op->need.registers = sqlite_small(sqlite3_column_int64(statement, REGISTERS));
    op->need.shared = sqlite_small(sqlite3_column_int64(statement, SHARED) +
                                   sqlite3_column_int64(statement, SHARED_MORE));
    op->moves = strstr(name, "memcpy Unified") != NULL;
}

static void read_source(struct sqlite_trace *database, const struct source *source)
{
    char query[QUERY_TEXT];
    database->table = source->table;
    database->what = source->what;
    database->row = 0;
    if (!sqlite_has(database, source->table, "start") ||
        !sqlite_has(database, source->table, "end")) {
        refuse_row(database, "no columns start and end");
        return;
    }
    make_query(database, source, query);
    sqlite_each_row(database, query, add_row);
}

void sqlite_ops_read(struct sqlite_trace *database)
{
    int tables = 0;
    for (int i = 0; i < SOURCES && !sqlite_failed(database); i++) {
        if (!sqlite_has(database, sources[i].table, NULL))
            continue;
        tables++;
        read_source(database, &sources[i]);
    }
    if (tables == 0)
        sqlite_refuse(database,
                      "not a trace of a GPU: the database has none of the tables "
                      "CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY and _MEMSET (nsys profile -t cuda "
                      "records them, nsys export -t sqlite writes them)");
}
