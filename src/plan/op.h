/* op.h - one issued operation, and the one table that says what each kind of op is: its names,
 * its looks in every picture, where it runs and how it behaves. */
#ifndef PIPELINE_PLAN_OP_H
#define PIPELINE_PLAN_OP_H

#include "kernels/kernel.h"
#include "machine/machine.h"

#include <stdbool.h>
#include <stdint.h>

/* The buffers that a plan works on. Host arrays are whole. A device buffer holds one part per
 * slot, unless its comment says otherwise. With several devices a device buffer stands for
 * those of all, one after another: plan_device_part() says which bytes are a device's. */
enum buffer {
    BUFFER_HOST_IN0,
    BUFFER_HOST_IN1,
    BUFFER_HOST_RESIDENT, /* an input that every tile needs as a whole */
    BUFFER_HOST_OUT,
    BUFFER_HOST_CARRY,    /* sums that scans pass from tile to tile through the host */
    BUFFER_HOST_PACK_IN0, /* page-locked memory that the CPU packs tiles into, in slots */
    BUFFER_HOST_PACK_IN1,
    BUFFER_HOST_PACK_OUT, /* and that it unpacks results from */
    BUFFER_HOST_EXCHANGE, /* and through which devices pass tiles on, in slots */
    BUFFER_DEVICE_IN0,
    BUFFER_DEVICE_IN1,
    BUFFER_DEVICE_RESIDENT, /* whole, without slots */
    BUFFER_DEVICE_OUT,
    BUFFER_DEVICE_SCRATCH,
    BUFFER_DEVICE_CARRY, /* the same on the device: a place per tile, no slots */
    BUFFER_DEVICE_OTHER, /* for ops outside the pipeline, without slots */
    BUFFER_COUNT,
    BUFFER_FIRST_DEVICE = BUFFER_DEVICE_IN0, /* all buffers before it are the host's */
};

/* Returns true if the host's buffer is page-locked wherever the arrays live. A carry has to be:
 * from pageable memory a short copy in may be read when it is issued, not when its stream
 * reaches it, and so before the callback that stores the carry has run. [Measured: on an H200
 * such a scan of 376 tiles went wrong] */
static inline bool buffer_is_page_locked(enum buffer buffer)
{
    return buffer >= BUFFER_HOST_CARRY && buffer < BUFFER_FIRST_DEVICE;
}

/* Where the host's arrays live. */
enum memory {
    MEMORY_PINNED,   /* allocated as page-locked memory */
    MEMORY_PAGEABLE, /* ordinary memory: the host stages copies through a page-locked buffer */
    MEMORY_REGISTERED, /* ordinary memory that was page-locked after it was allocated */
    MEMORY_MAPPED,     /* page-locked memory that kernels read and write without copies */
    MEMORY_MANAGED,    /* managed memory, whose pages move to whoever works on them */
};

/* Returns true if kernels work on the host's arrays directly, without buffers on the device. */
static inline bool memory_is_reached(enum memory memory)
{
    return memory == MEMORY_MAPPED || memory == MEMORY_MANAGED;
}

/* How a tile's bytes are laid out in host memory, and so how it is copied. */
enum copy {
    COPY_WHOLE, /* in one piece, by one call */
    COPY_2D,    /* a block of a matrix's columns, by one call for all rows */
    COPY_ROWS,  /* the same, by a call per row */
};

/* How the processes of a run share one device: not at all, since there is one process; its
 * kernels belong to one of them at a time; or to all at once, by NVIDIA's Multi-Process
 * Service. */
enum sharing { SHARING_NONE, SHARING_SLICES, SHARING_MPS };

/* Where a tile's memory on the device comes from. */
enum alloc {
    ALLOC_ONCE,  /* slots, allocated before the run */
    ALLOC_LOOP,  /* cudaMalloc() before the tile's first op, cudaFree() after its last */
    ALLOC_ASYNC, /* the same in the order of its streams, from the device's own pool, which
                    gives its memory back whenever the host synchronises */
    ALLOC_POOL,  /* the same, from a pool that keeps its memory */
};

/* What an op of the kind OP_ALLOC does. */
enum alloc_action {
    ALLOC_PAIR, /* memory that nobody uses is allocated and freed */
    ALLOC_TAKE, /* the memory of a range is allocated */
    ALLOC_GIVE, /* and freed */
};

/* How the host issues a plan. */
enum issue {
    ISSUE_STREAMS, /* one call per op */
    ISSUE_GRAPH,   /* captured once as a graph; a run is one launch of it */
    ISSUE_BATCH,   /* tiles go in batches: one call for a batch's copies each way */
    ISSUE_AUTO,    /* only in settings: not chosen yet */
};

/* Bytes [offset, offset + bytes) of a buffer; a range of 0 bytes stands for none. */
struct range {
    enum buffer buffer;
    uint64_t offset, bytes;
};

/* All that a kernel or the CPU's op works on, or a callback that feeds the next tile of a scan:
 * the callback sets `out` to the sum of in[0], for all tiles before (no range for the first
 * tile), and in[1], for its own tile. */
struct op_ranges {
    struct range in[KERNEL_INPUTS_MAX], resident, out, scratch;
    struct range carry_in, carry_out; /* of scans; the first tile has no carry_in */
    bool carry_own; /* carry_out is the total of this tile only, without carry_in */
};

/* Return true if both are the same. */
static inline bool range_equal(const struct range *a, const struct range *b)
{
    return a->buffer == b->buffer && a->offset == b->offset && a->bytes == b->bytes;
}
bool op_ranges_equal(const struct op_ranges *a, const struct op_ranges *b);

/* Returns true if a byte is in both ranges. */
static inline bool ranges_overlap(const struct range *a, const struct range *b)
{
    return a->buffer == b->buffer && a->bytes > 0 && b->bytes > 0 &&
           a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

enum op_kind {
    OP_H2D,        /* copy to the device; with managed memory, its pages move there */
    OP_KERNEL,     /* one kernel of the chain on one tile */
    OP_D2H,        /* copy back, or pages move back */
    OP_RECORD,     /* record an event in a stream */
    OP_WAIT,       /* a stream waits for an event, which an earlier op recorded */
    OP_CALLBACK,   /* a host function, in stream order */
    OP_CPU,        /* the CPU runs the whole chain on a tile, on the host arrays */
    OP_D2D,        /* copy within the device */
    OP_MEMSET,     /* sets bytes of the device */
    OP_SYNC,       /* the host waits until a stream, or the device, has done what was issued */
    OP_ALLOC,      /* the host allocates memory, frees it, or both */
    OP_SYNC_EVENT, /* the host waits until what came before an event's latest record is done */
    OP_PACK,       /* the host's cores copy tiles into one piece of its memory, or out of one */
    OP_PEER,       /* copy to another device; it is in a stream of the sender's */
    OP_KIND_COUNT
};

/* The engine that an op occupies while it runs. */
enum engine {
    ENGINE_H2D,
    ENGINE_COMPUTE,
    ENGINE_D2H,
    ENGINE_PEER, /* from a device to the others */
    ENGINE_CPU,
    ENGINE_HOST, /* the driver's thread, which runs callbacks, and the caller's own calls */
    ENGINE_NONE, /* waits occupy a stream, not an engine */
    ENGINE_COUNT,
    DEVICE_ENGINES =
        ENGINE_CPU, /* engines before this one are a device's, the rest the host's */
    ENGINE_WORKING = ENGINE_HOST, /* engines before this one count as busy in the analysis */
};

/* A resource executes ops: an engine of a device, or of the host, which is listed under device
 * 0. `index` distinguishes those of one kind on a device: kernels that run side by side have a
 * lane each. */
struct resource {
    enum engine kind;
    uint32_t device, index;
};

/* Returns true if each device has its own engine of that kind; else the host has it. */
static inline bool engine_of_device(enum engine kind)
{
    return kind < DEVICE_ENGINES;
}

/* Resources are numbered, whatever their index, in the order of the pictures' rows: the engines
 * of each device, then the host's. */
enum { RESOURCES_MOST = DEVICE_ENGINES * MACHINE_DEVICES_MAX + ENGINE_COUNT - DEVICE_ENGINES };
static inline uint32_t resource_count(uint32_t devices)
{
    return DEVICE_ENGINES * devices + ENGINE_COUNT - DEVICE_ENGINES;
}
static inline uint32_t resource_number(struct resource resource, uint32_t devices)
{
    return DEVICE_ENGINES * (engine_of_device(resource.kind) ? resource.device : devices - 1) +
           resource.kind;
}
static inline struct resource resource_at(uint32_t number, uint32_t devices)
{
    if (number >= DEVICE_ENGINES * devices)
        return (struct resource){number - DEVICE_ENGINES * (devices - 1), 0, 0};
    return (struct resource){number % DEVICE_ENGINES, number / DEVICE_ENGINES, 0};
}

/* Returns the device of a link if the `length` links of a chain are distributed over devices:
 * each has consecutive links, as many as the others or one more. */
static inline uint32_t link_device(uint32_t link, uint32_t length, uint32_t devices)
{
    return link * devices / length;
}

/* One kind of op. Everything that names, draws or sorts ops by their kind reads it here; the
 * parts of the pictures that are not C are made from these rows (docs/manual/plots.c,
 * writers/html.c). */
struct op_row {
    const char *name;  /* as files and reports have it: "h2d" */
    const char *label; /* as a viewer's tracks have it: "H2D" */
    const char *title; /* for people: "copy to the device" */
    const char *call;  /* the CUDA call that issues it, as errors name it */
    enum engine engine;
    char letter;      /* in the terminal's picture; a chain's further kernels follow it */
    uint8_t terminal; /* `color` by the nearest of a terminal's 256 colours */
    uint32_t color;   /* 0xRRGGBB */
    bool in_stream;   /* takes its turn in a stream */
    bool on_host;     /* is only a call of the host's: nothing is issued to the device */
    bool waits;       /* does no work: it waits for another op */
    bool light_text;  /* text on `color` is white, not black */
};
extern const struct op_row op_rows[OP_KIND_COUNT];

/* An engine's name in files, and what people call it: kernels run on "compute". Reports leave
 * out a rare one on which nothing ran. */
struct engine_row {
    const char *name, *label;
    bool rare;
};
extern const struct engine_row engine_rows[ENGINE_COUNT];

/* The most tiles that one op may be for. */
#define OP_TILES_MOST ((UINT32_C(1) << 24) - 1)

/* One operation. Plain data: a plan is an array of these in the order of issue. There may be
 * millions, so each is kept small: the ranges of ops that may have many are stored apart, and
 * belong to the plan (plan_take_ranges()). Ops that work on the same ranges share them. They
 * are NULL in a recorded plan, which itself knows what its ops touch. */
struct op {
    uint32_t id; /* its index in the plan */
    enum op_kind kind : 8;
    uint32_t tiles : 24; /* how many consecutive tiles it is for; 0 stands for 1 */
    /* A stream's number is below plan.streams. The number plan.streams itself stands for none
     * of them: the CPU's own lane for OP_CPU and OP_PACK, the whole device for OP_SYNC,
     * OP_ALLOC and OP_SYNC_EVENT. */
    uint32_t stream;
    int32_t tile; /* the first tile that it is for; -1 if it belongs to no tile */
    union {
        struct {
            struct range host, device; /* pages that move have one place: no `device` */
        } copy;
        struct {
            uint32_t link;   /* the kernel's place in the chain, from 0 */
            uint32_t repeat; /* the launch's place among the kernel_launches() of that kernel */
            uint32_t blocks;
            uint64_t count; /* elements */
            struct op_ranges *ranges;
        } kernel;
        struct {
            uint32_t event; /* below plan.events */
            uint32_t flag;  /* of a portion (plan/portion.h): the crossing's flag, from 1, that
                               a record raises and a wait awaits; 0: it is its device's alone */
        } event;
        struct {
            struct range result;      /* the host bytes that it reads */
            int64_t sleep_ns;         /* how long it sleeps after that */
            struct op_ranges *ranges; /* NULL: it feeds no tile; else it has no result */
        } callback;
        struct {
            uint64_t count;
            struct op_ranges *ranges;
        } cpu;
        struct {
            struct range from, to; /* of one size: within a device, of two, or of the host */
        } move;
        struct {
            struct range range;
            uint8_t value; /* that every byte is set to */
        } set;
        struct {
            uint64_t bytes;
            bool pinned;  /* page-locked host memory is allocated, else device memory */
            bool ordered; /* it is done in the order of `stream`; else the host does it at once,
                             and waits for the device before it gives memory back */
            enum alloc_action action : 8;
            uint32_t stream;
            struct range range; /* of a device buffer; a pair has none */
        } alloc;
    };
};

/* Returns true if an op runs as blocks of threads, as kernels do. NVIDIA's programming guide,
 * "Overlap of Data Transfer and Kernel Execution", says that copies within the device overlap
 * kernels if the device runs kernels side by side, without needing a copy engine. A memset is
 * assumed to be the same. */
static inline bool op_is_launch(enum op_kind kind)
{
    return op_rows[kind].engine == ENGINE_COMPUTE;
}

/* Returns true if a recorded plan says how long such an op takes: a launch, or a copy to a
 * device that is not in the plan. */
static inline bool op_work_is_seen(enum op_kind kind)
{
    return op_is_launch(kind) || kind == OP_PEER;
}

/* Returns true if an op is only a call of the host's. */
static inline bool op_is_call(enum op_kind kind)
{
    return op_rows[kind].on_host;
}

/* Returns true if an op is a call that waits for a stream, the device or an event. */
static inline bool op_is_sync(enum op_kind kind)
{
    return op_rows[kind].on_host && op_rows[kind].waits;
}

/* Returns true if an op takes its turn in a stream. */
static inline bool op_in_stream(enum op_kind kind)
{
    return op_rows[kind].in_stream;
}

/* Returns true if an op is work for one of the device's engines. */
static inline bool op_on_device(enum op_kind kind)
{
    return engine_of_device(op_rows[kind].engine);
}

/* Returns true if an op is a node of a graph. Records and waits are edges, and the CPU's ops
 * don't run on the device. */
static inline bool op_is_node(enum op_kind kind)
{
    return op_on_device(kind) || kind == OP_CALLBACK;
}

/* Returns true if an op copies between the host and a device, over that device's link. */
static inline bool op_is_copy(enum op_kind kind)
{
    return kind == OP_H2D || kind == OP_D2H;
}

/* Returns true if an op copies bytes that stay on their side of the link: within a device, from
 * one to another, or within the host's memory. */
static inline bool op_moves(enum op_kind kind)
{
    return kind == OP_D2D || kind == OP_PEER || kind == OP_PACK;
}

/* Returns how many tiles an op is for: those of a batch, or 1. */
static inline uint32_t op_tiles(const struct op *op)
{
    return op->tiles > 1 ? op->tiles : 1;
}

/* Returns true if a callback feeds the next tile of a scan, and false if it is only told that
 * its own tile has ended. */
static inline bool op_feeds(const struct op *op)
{
    return op->kind == OP_CALLBACK && op->callback.ranges != NULL;
}

/* Does the work of such a callback: *next = *before + *total, modulo 2^32. `before` is NULL for
 * the first tile, whose sum begins at 0. */
static inline void carry_feed(const void *before, const void *total, void *next)
{
    const uint32_t sum = before != NULL ? *(const uint32_t *)before : 0;
    *(uint32_t *)next = sum + *(const uint32_t *)total;
}

/* Sets the bytes of host arrays that a kernel reads and writes directly: they cross the link,
 * in and out, as a copy's do. They are 0 if the arrays are not mapped, and for other kinds. */
void op_link_bytes(const struct op *op, uint64_t *in, uint64_t *out);

/* Returns the bytes that a copy or the host's packing moves, a memset sets, or a kernel moves
 * over the link itself; 0 for other kinds. */
static inline uint64_t op_bytes(const struct op *op)
{
    if (op->kind == OP_KERNEL) {
        uint64_t in, out;
        op_link_bytes(op, &in, &out);
        return in + out;
    }
    if (op_is_copy(op->kind))
        return op->copy.host.bytes;
    if (op_moves(op->kind))
        return op->move.to.bytes;
    return op->kind == OP_MEMSET ? op->set.range.bytes : 0;
}

/* One range that an op touches; an op touches at most OP_ACCESS_MAX of them. */
enum { OP_ACCESS_MAX = KERNEL_INPUTS_MAX + 5 };
struct access {
    struct range range;
    int writes;  /* 1 if the op writes the range, 0 if it only reads it */
    bool atomic; /* of recorded kernels: by atomic operations alone */
};

/* Fills `access` with what `op`, of a built plan, reads and writes and returns how many ranges
 * that is. Events, waits and the host's calls touch nothing; memory that is allocated or freed
 * counts as written. plan_accesses() is for any plan. */
int op_accesses(const struct op *op, struct access access[OP_ACCESS_MAX]);

/* Returns the kind's name in files: "h2d", "kernel", ... */
static inline const char *op_kind_name(enum op_kind kind)
{
    return op_rows[kind].name;
}

/* Returns what an action is called: "alloc", "take" or "give". */
static inline const char *alloc_action_name(enum alloc_action action)
{
    return action == ALLOC_TAKE ? "take" : action == ALLOC_GIVE ? "give" : "alloc";
}

/* Returns the engine's name in files: "h2d", "compute", "d2h", "cpu", "host" or "none". */
static inline const char *engine_name(enum engine engine)
{
    return engine_rows[engine].name;
}

/* Returns the buffer's name: "host.in0", "device.out", ... */
const char *buffer_name(enum buffer buffer);

#endif
