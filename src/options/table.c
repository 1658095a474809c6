/* table.c - the table: every command and option there is, by name. It is data alone, on which
 * all other files of this room stand. */
#include "options/table.h"

#include <string.h>

#define FORMAT_NAME(value, name, write)        name,
#define FORMAT_PLACEHOLDER(value, name, write) "|" name
static const char *const format_names[] = {"text", REPORT_FORMATS(FORMAT_NAME) NULL};
static const char *const size_names[] = {"slide", "paper", "figure", NULL};
static const char *const gantt_names[] = {"engines", "streams", "none", NULL};
static const char device_values[] = "auto"
#define DEVICE(id, shown, ...) "|" shown
#include "plan/devices.def"
#undef DEVICE
    ;
static const char *const model_names[] = {"none", "sim", NULL};

const char *const list_words[] = {"kernels",  "machines", "devices", "mistakes",
                                  "verdicts", "lessons",  NULL};

const struct command_row command_rows[] = {
    {"run", COMMAND_RUN, "[run] [options] [CONFIG.ini ...]",
     "the main job; `run` may be left out", NULL},
    {"list", COMMAND_LIST, "list [kernels|machines|devices|mistakes|verdicts|lessons]",
     "what there is to choose from", "prints what there is to choose from"},
    {"calibrate", COMMAND_CALIBRATE, "calibrate [--device=cuda:0] [--kernel=./FILE.so]",
     "measure this GPU, and a kernel of your own; print a machine file",
     "runs plans of its own and prints a machine file"},
    {"bench", COMMAND_BENCH, "bench [--quick] [NAME ...]",
     "kernels and pipelines against their peers and limits",
     "measures settings of its own, on this host and the first CUDA device "
     "(CUDA_VISIBLE_DEVICES names another)"},
    {"compare", COMMAND_COMPARE, "compare [options] [CONFIG.ini ...]",
     "the same plans on the device and on its machine file", NULL},
    {"view", COMMAND_VIEW, "view [options] TRACE ...",
     "draw and explain what `pipeline record`, a profiler or --timeline wrote",
     "shows what has run, and runs nothing"},
    {"record", COMMAND_RECORD, "record [options] [--] PROGRAM [ARG ...]",
     "run a CUDA program, as it is, and record what it does: a recording for `pipeline "
     "view`",
     "runs another program"},
    {"lab", COMMAND_LAB, "lab [-o FILE]",
     "write a page with the simulator in it, for any browser: lab.html",
     "writes a page of which nothing depends on options"},
    {"kernel", COMMAND_KERNEL, "kernel new FILE.cu | kernel check LIBRARY [PART]",
     "write the source of a kernel of your own, or try one that was built: "
     "`--kernel=./FILE.so`",
     "writes or tries a kernel of yours"},
    {"lesson", COMMAND_LESSON, "lesson N|NAME [options]",
     "a lesson, by its number or its name: `pipeline list lessons`", NULL},
    {"help", COMMAND_HELP, "help [OPTION|COMMAND|CAUSE]",
     "this, or all about one option, command or cause of a loss",
     "explains commands and options"},
    {.name = NULL},
};

/* Sets of commands. */
enum {
    BENCH = 1u << COMMAND_BENCH,
    CALIBRATE = 1u << COMMAND_CALIBRATE,
    VIEW = 1u << COMMAND_VIEW,
    RECORD = 1u << COMMAND_RECORD,
    LAB = 1u << COMMAND_LAB,
    KERNEL = 1u << COMMAND_KERNEL,
    RUNS = 1u << COMMAND_RUN | 1u << COMMAND_LESSON | 1u << COMMAND_COMPARE,
    ALL_COMMANDS = ~0,
};

/* The place of a row's field, and the commands that take the option. */
#define RUN_FIELD(member, commands_that_take_it)                                               \
    .scope = SCOPE_RUN, .offset = offsetof(struct settings, member),                           \
    .size = sizeof((struct settings *)NULL)->member, .commands = commands_that_take_it
#define PROGRAM_FIELD(member, commands_that_take_it)                                           \
    .scope = SCOPE_PROGRAM, .offset = offsetof(struct options, member),                        \
    .size = sizeof((struct options *)NULL)->member, .commands = commands_that_take_it

const struct option_row option_rows[OPTION_COUNT] = {
    [OPTION_ELEMENTS] = {"elements", 'n', "N", TYPE_NUMBER, RUN_FIELD(elements, RUNS),
                         .fallback = "64M", .least = 1, .most = 1ull << 40, .suffixes = true,
                         .help = "elements of the array; k, M, G and T are powers of 1024"},
    [OPTION_INPUT] = {"input", 'i', "FILE", TYPE_FILE, RUN_FIELD(input, RUNS),
                      .absent = "generated",
                      .help = "a real array: .npy, or raw little-endian"},
    [OPTION_OUTPUT] = {"output", 'o', "FILE", TYPE_FILE, RUN_FIELD(output, RUNS | RECORD | LAB),
                       .absent = "not kept", .help = "keep the result: .npy, or raw",
                       .with = "With `pipeline record` it is the recording, which is else "
                               "PROGRAM.PID.jsonl in the current folder; with `pipeline lab` "
                               "it is the page, which is else lab.html there."},
    [OPTION_KERNEL] =
        {"kernel", 'k', "NAME[,NAME...]", TYPE_CHAIN, RUN_FIELD(chain, RUNS | CALIBRATE),
         .fallback = "scale",
         .help = "the chain run on every tile: `pipeline list kernels`; or ./FILE.so, a "
                 "kernel of your own",
         .with = "`pipeline calibrate` takes one of your own, and measures it, too."},
    [OPTION_INTENSITY] = {"intensity", 0, "R|auto", TYPE_NUMBER, RUN_FIELD(intensity, RUNS),
                          .fallback = "auto", .least = 1, .most = 65536, .automatic = true,
                          .help = "arithmetic per element, to make a kernel heavier; auto: "
                                  "1800 for scale, which then takes about as long as a copy "
                                  "on an H200, shared out over a chain; 1 for other kernels",
                          .with = "Kernels whose arithmetic is settled, such as sum and dgemm, "
                                  "don't use it."},
    [OPTION_COLUMNS] = {"columns", 0, "W", TYPE_NUMBER, RUN_FIELD(columns, RUNS),
                        .fallback = "1024", .least = 1, .most = 1u << 30, .suffixes = true,
                        .help = "transposes, stencil: elements of a row; a tile is whole rows, "
                                "and of a transpose a matrix of its own",
                        .with = "Only transposes and stencil use it."},
    [OPTION_STRIDE] = {"stride", 0, "N", TYPE_NUMBER, RUN_FIELD(stride, RUNS), .fallback = "1",
                       .least = 1, .most = 65536,
                       .help = "stride-copy: from one element that is read to the next",
                       .with = "Only stride-copy uses it."},
    [OPTION_ROWS] = {"rows", 0, "M", TYPE_NUMBER, RUN_FIELD(rows, RUNS), .fallback = "16384",
                     .least = 1, .most = 1u << 20, .suffixes = true,
                     .help = "dgemm: rows of A and C; C has elements / M columns",
                     .with = "Only dgemm uses it."},
    [OPTION_INNER] = {"inner", 0, "K", TYPE_NUMBER, RUN_FIELD(inner, RUNS), .fallback = "1408",
                      .least = 1, .most = 1u << 20, .suffixes = true,
                      .help = "dgemm: columns of A, which are rows of B",
                      .with = "Only dgemm uses it."},
    [OPTION_BLOCKS] = {"blocks", 0, "N|auto", TYPE_NUMBER, RUN_FIELD(blocks, RUNS),
                       .fallback = "auto", .least = 1, .most = KERNEL_BLOCKS_MAX,
                       .suffixes = true, .automatic = true,
                       .help = "blocks of a launch, fewer where the tile fills fewer; auto: as "
                               "many as the GPU holds at once. With more they are shorter, and "
                               "priorities act between blocks"},
    [OPTION_TILES] = {"tiles", 't', "N|auto", TYPE_NUMBER, RUN_FIELD(tiles, RUNS),
                      .fallback = "32", .least = 1, .most = TILES_MAX, .suffixes = true,
                      .automatic = true,
                      .help = "tiles the array is cut into; auto: the simulator chooses"},
    [OPTION_STREAMS] = {"streams", 's', "K|auto", TYPE_NUMBER, RUN_FIELD(streams, RUNS),
                        .fallback = "4", .least = 1, .most = STREAMS_MAX, .automatic = true,
                        .help = "tiles in flight: that many streams, or slots where --layout "
                                "is stage; auto: the simulator chooses",
                        .with =
                            "A report's concurrency is the mean number of copies, kernels and "
                            "CPU tiles at work at once: kernels side by side count each."},
    [OPTION_ORDER] =
        {"order", 0, "depth|breadth|auto", TYPE_CHOICE, RUN_FIELD(order, RUNS),
         .fallback = "depth", .choices = order_names,
         .help = "issue all stages of a tile, then the next tile; or one stage of "
                 "every tile of a wave, then the next stage; auto: the simulator chooses"},
    [OPTION_LAYOUT] = {"layout", 0, "tile|stage|auto", TYPE_CHOICE, RUN_FIELD(layout, RUNS),
                       .fallback = "tile", .choices = layout_names,
                       .help = "all stages of a tile in one stream; or one stream per stage, "
                               "joined by events; auto: the simulator chooses",
                       .with = "--mistake=missing-wait needs stage."},
    [OPTION_WAYS] = {"ways", 'w', "1|2|3|4", TYPE_NUMBER, RUN_FIELD(ways, RUNS),
                     .fallback = "3", .least = 1, .most = 4,
                     .help = "1: serial, in one stream; 2: kernels overlap copies back; 3: "
                             "both copies and kernels overlap; 4: and the CPU works too"},
    [OPTION_CPU_SHARE] = {"cpu-share", 0, "F|auto", TYPE_SHARE, RUN_FIELD(cpu_share, RUNS),
                          .fallback = "auto",
                          .help = "the CPU's share of the tiles in 4-way, 0 to 1"},
    [OPTION_MEMORY] = {"memory", 0, "pinned|pageable|registered|mapped|managed", TYPE_CHOICE,
                       RUN_FIELD(memory, RUNS), .fallback = "pinned", .choices = memory_names,
                       .help = "where the host array lives; mapped: kernels read and write it "
                               "there, without copies; managed: its pages move to who works "
                               "on them",
                       .with = "Arrays of managed memory may take a quarter of the device's."},
    [OPTION_PREFETCH] = {"prefetch", 0, NULL, TYPE_FLAG, RUN_FIELD(prefetch, RUNS),
                         .help = "pages of managed memory move ahead of the kernels, tile by "
                                 "tile, and results back; else when they are touched",
                         .with = "Only --memory=managed has pages that move."},
    [OPTION_ALLOC] = {"alloc", 0, "once|loop|async|pool", TYPE_CHOICE, RUN_FIELD(alloc, RUNS),
                      .fallback = "once", .choices = alloc_names,
                      .help =
                          "device memory of the tiles: slots taken once, before the run; by "
                          "cudaMalloc() for each tile; in stream order, from the device's "
                          "own pool; or from a pool that keeps its memory"},
    [OPTION_SCATTER] = {"scatter", 0, NULL, TYPE_FLAG, RUN_FIELD(scatter, RUNS),
                        .help =
                            "tiles lie apart in host memory, in an order drawn from --seed, "
                            "so that no two can be copied as one",
                        .with = "The resident input and one value per tile stay in one piece."},
    [OPTION_COPY] = {"copy", 0, "whole|2d|rows", TYPE_CHOICE, RUN_FIELD(copy, RUNS),
                     .fallback = "whole", .choices = copy_names,
                     .help = "a tile is one piece of host memory; or a block of a matrix's "
                             "columns, copied by one cudaMemcpy2DAsync(), or row by row",
                     .with = "--pack gathers the rows."},
    [OPTION_TILE_WIDTH] = {"tile-width", 0, "N", TYPE_NUMBER, RUN_FIELD(tile_width, RUNS),
                           .fallback = "1024", .least = 1, .most = 1 << 30, .suffixes = true,
                           .help = "columns of such a tile: elements of its row, of which the "
                                   "matrix has as many for each tile",
                           .with = "Only --copy=2d and --copy=rows use it."},
    [OPTION_PRIORITIES] = {"priorities", 0, "P[,P...]", TYPE_PRIORITIES,
                           RUN_FIELD(priorities, RUNS), .fallback = "none",
                           .help = "stream priorities, lower is more urgent, dealt "
                                   "round-robin"},
    [OPTION_CALLBACKS] = {"callbacks", 0, NULL, TYPE_FLAG, RUN_FIELD(callbacks, RUNS),
                          .help = "a host callback after each tile folds its result and drives "
                                  "the progress bar"},
    [OPTION_CARRY] = {"carry", 0, "device|callback|sync", TYPE_CHOICE, RUN_FIELD(carry, RUNS),
                      .fallback = "device", .choices = carry_names,
                      .help =
                          "scans, from tile to tile: on the device, by events; or by way of "
                          "the host, where a callback feeds the next tile; or by way of a "
                          "host that waits for each tile"},
    [OPTION_CONNECTIONS] = {"connections", 0, "N", TYPE_NUMBER,
                            RUN_FIELD(connections, RUNS | CALIBRATE), .absent = "the driver's",
                            .least = 1, .most = 32,
                            .help = "hardware queues: CUDA_DEVICE_MAX_CONNECTIONS, or the "
                                    "machine's queues when simulated"},
    [OPTION_MISTAKE] =
        {"mistake", 0, "NAME", TYPE_MISTAKE, RUN_FIELD(mistake, RUNS), .fallback = "none",
         .help = "break it on purpose: `pipeline list mistakes`",
         .with = "missing-wait needs --layout=stage, and most others need several streams."},
    [OPTION_DEVICE] = {"device", 'd', device_values, TYPE_DEVICE,
                       RUN_FIELD(device, RUNS | CALIBRATE | VIEW | KERNEL), .fallback = "auto",
                       .help = "auto: the first CUDA device, else sim:h200, which is also what "
                               "sim alone means; sim:FILE.ini reads a machine file; *N: N "
                               "such devices of one host, which share its memory; cuda:0,1 "
                               "and cuda:all are several real ones",
                       .with = "With `pipeline view` it is the device of the trace to look at: "
                               "its number, or a part of its name."},
    [OPTION_SPREAD] = {"spread", 0, "tiles|chain", TYPE_CHOICE, RUN_FIELD(spread, RUNS),
                       .fallback = "tiles", .choices = spread_names, .of_several = true,
                       .help =
                           "several devices: tiles are dealt over them in turn; or each has a "
                           "part of the chain of kernels, and hands tiles on to the next. Each "
                           "has --streams of its own"},
    [OPTION_SHARE] =
        {"share", 0, "none|slices|mps", TYPE_CHOICE, RUN_FIELD(sharing, RUNS),
         .fallback = "none", .choices = sharing_names, .of_several = true,
         .help = "several processes on one device, of which each issues its own tiles: "
                 "their kernels take turns in time slices; or run side by side, by "
                 "NVIDIA's MPS. sim:NAME*N simulates N of them; pipeline-mpi runs one "
                 "a rank"},
    [OPTION_EXCHANGE] = {"exchange", 0, "auto|peer|host", TYPE_CHOICE,
                         RUN_FIELD(exchange, RUNS), .fallback = "auto",
                         .choices = exchange_names, .of_several = true,
                         .help =
                             "how devices hand tiles on: by one copy from device to device; "
                             "or out into page-locked memory of the host and in from there; "
                             "auto: as peers, where they can; between ranks by the host"},
    [OPTION_HALO] = {"halo", 0, "N", TYPE_NUMBER, RUN_FIELD(halo, RUNS), .fallback = "1",
                     .least = 1, .most = 64, .of_halo = true,
                     .help = "stencil: how far an element's neighbours are, above, below, left "
                             "and right; devices hand each other as many rows",
                     .with = "Only stencil uses it."},
    [OPTION_STEPS] = {"steps", 0, "S", TYPE_NUMBER, RUN_FIELD(steps, RUNS), .fallback = "10",
                      .least = 1, .most = 10000, .suffixes = true, .of_halo = true,
                      .help = "stencil: how often it is applied to the array, which stays on "
                              "the devices",
                      .with = "Only stencil uses it."},
    [OPTION_HIDE] = {"hide", 0, "yes|no", TYPE_CHOICE, RUN_FIELD(hide, RUNS), .fallback = "yes",
                     .choices = hide_names, .of_halo = true, .of_several = true,
                     .help = "stencil on several devices: the rows that neighbours need come "
                             "first, in a stream of high priority, and are copied while the "
                             "others are worked on; or a step is one launch, and the copies "
                             "follow it",
                     .with = "Only stencil uses it."},
    [OPTION_RUNS] = {"runs", 0, "N", TYPE_NUMBER, RUN_FIELD(runs, RUNS | BENCH),
                     .fallback = "5", .least = 1, .most = 10000,
                     .help = "measured repeats: the report gives the median and the spread",
                     .with = "A simulated machine makes one run, for its times do not vary."},
    [OPTION_WARMUP] = {"warmup", 0, "N", TYPE_NUMBER, RUN_FIELD(warmup, RUNS), .fallback = "1",
                       .least = 0, .most = 1000, .help = "repeats before the measured ones",
                       .with = "A simulated machine needs none."},
    [OPTION_ISSUE] =
        {"issue", 0, "streams|graph|batch|auto", TYPE_CHOICE, RUN_FIELD(issue, RUNS),
         .fallback = "streams", .choices = issue_names,
         .help = "call by call; captured once and launched as a CUDA graph; or "
                 "tiles in batches, one call for a batch's copies each way and one "
                 "launch for its kernels; auto: the simulator chooses among these, "
                 "each also with mapped memory, batches also with a stream for each "
                 "stage, and packing",
         .with = "Kernels that can't join tiles, such as reductions, are launched on each tile "
                 "of a batch. auto keeps a --memory and a --layout that are given."},
    [OPTION_BATCH] =
        {"batch", 0, "N|auto", TYPE_NUMBER, RUN_FIELD(batch, RUNS), .fallback = "auto",
         .least = 1, .most = OP_TILES_MOST, .suffixes = true, .automatic = true,
         .help = "tiles of a batch; auto: as many as come to 4 MiB of the first input, but "
                 "fewer where there would be less than 8 batches in turn for each stream",
         .with = "--issue=auto keeps it for the ways that have batches."},
    [OPTION_PACK] = {"pack", 0, NULL, TYPE_FLAG, RUN_FIELD(pack, RUNS),
                     .help =
                         "the CPU packs a batch of tiles into page-locked memory, from where "
                         "one copy takes them, and unpacks what comes back"},
    [OPTION_PROFILE] = {"profile", 0, NULL, TYPE_FLAG, RUN_FIELD(profile, RUNS),
                        .help = "one clean run for an outside profiler, with no "
                                "instrumentation of our own",
                        .with = "On a real device there is then no timeline, so neither "
                                "--timeline nor `pipeline compare` goes with it."},
    [OPTION_NO_DATA] = {"no-data", 0, NULL, TYPE_FLAG, RUN_FIELD(no_data, RUNS),
                        .help = "simulator only: times without the bytes, nothing verified"},
    [OPTION_SEED] = {"seed", 0, "N", TYPE_NUMBER, RUN_FIELD(seed, RUNS), .fallback = "1",
                     .least = 0, .most = UINT64_MAX,
                     .help = "which data to generate, and where --scatter lays the tiles"},

    [OPTION_FORMAT] = {"format", 0, "text" REPORT_FORMATS(FORMAT_PLACEHOLDER), TYPE_CHOICE,
                       PROGRAM_FIELD(format, RUNS | BENCH | VIEW), .fallback = "text",
                       .choices = format_names, .help = "the report on standard output"},
    [OPTION_TIMELINE] = {"timeline", 0, "FILE", TYPE_FILES,
                         PROGRAM_FIELD(timelines, RUNS | VIEW), .absent = "none",
                         .help = "write the timeline, in the form that FILE's ending names; "
                                 "may be repeated"},
    [OPTION_EMIT] =
        {"emit", 0, "FILE.cu", TYPE_FILE,
         PROGRAM_FIELD(emit, 1u << COMMAND_RUN | 1u << COMMAND_LESSON), .absent = "none",
         .help = "write the plan as a CUDA program that checks and times itself, "
                 "and run nothing; - is standard output",
         .with = "A file takes the program of one run. Of mistakes lazy-loading can't be "
                 "written. Some kernels are written alone, or without tiles of the CPU's. One "
                 "of your own is opened by its path, from the folder that the program is run "
                 "in."},
    [OPTION_GANTT] = {"gantt", 0, "engines|streams|none", TYPE_CHOICE,
                      PROGRAM_FIELD(gantt, RUNS | VIEW), .fallback = "engines",
                      .choices = gantt_names,
                      .help = "the picture in the terminal: what a row is",
                      .with = "Only --format=text and pictures that --timeline writes use it."},
    [OPTION_SIZE] =
        {"size", 0, "slide|paper|figure", TYPE_CHOICE, PROGRAM_FIELD(size, RUNS | VIEW),
         .fallback = "slide", .choices = size_names,
         .help = "of pictures: 1920x1080, a page's width in print, or for a slide with a "
                 "title of its own",
         .with = "Only pictures that --timeline writes have a size."},
    [OPTION_SWEEP] = {"sweep", 0, "OPTION=RANGE", TYPE_SWEEP, PROGRAM_FIELD(sweep, RUNS),
                      .absent = "none",
                      .help = "every run for each value: streams=1..8, tiles=1,2,4,...,256, "
                              "elements=1M..1G*4, order=depth,breadth; may be given twice, for "
                              "every pair",
                      .with = "An option that is swept is not given as well."},
    [OPTION_MACHINE] =
        {"machine", 0, "NAME|FILE.ini", TYPE_FILE, PROGRAM_FIELD(machine, RUNS | VIEW),
         .absent = "the one of the device's name",
         .help = "the machine file that stands for the device: compare, auto "
                 "and --model simulate it, and view tries the fixes of a recording on it",
         .with = "It needs `pipeline compare`, `pipeline view` of a recording, --model, "
                 "--tiles=auto or --streams=auto."},
    [OPTION_MODEL] = {"model", 0, "none|sim", TYPE_CHOICE, PROGRAM_FIELD(model, RUNS),
                      .fallback = "none", .choices = model_names,
                      .help = "predict each run's time, too, by simulating the machine file"},
    [OPTION_WINDOW] =
        {"window", 0, "A..B", TYPE_WINDOW, PROGRAM_FIELD(part, VIEW), .absent = "all of it",
         .help = "view: only what ran from A to B, like 2ms..5ms or 25%..50%; ops that cross "
                 "an edge are cut there, their bytes in proportion"},
    [OPTION_ALL] = {"all", 0, NULL, TYPE_FLAG, PROGRAM_FIELD(part.all, VIEW),
                    .help = "view: judge the whole, not only the loop that it shows"},
    [OPTION_STREAM] =
        {"stream", 0, "N[,N...]", TYPE_STREAMS, PROGRAM_FIELD(part, VIEW), .absent = "all",
         .help =
             "view: only the ops of these streams, by the numbers that the trace gives them",
         .with = "No causes are named then, and --fail-above does not go with it: why ops of "
                 "one stream waited may lie in the others."},
    [OPTION_BEFORE] = {"before", 0, "FILE", TYPE_FILE, PROGRAM_FIELD(before, VIEW),
                       .absent = "none", .help = "view: compare this timeline with --after's",
                       .with = "It needs --after, and stands in place of other traces."},
    [OPTION_AFTER] = {"after", 0, "FILE", TYPE_FILE, PROGRAM_FIELD(after, VIEW),
                      .absent = "none",
                      .help = "view: the other one: how much faster it is, and what changed",
                      .with = "It needs --before, and stands in place of other traces."},
    [OPTION_FAIL_ABOVE] =
        {"fail-above", 0, "CODE:SHARE", TYPE_FAIL_ABOVE, PROGRAM_FIELD(fail_above, RUNS | VIEW),
         .absent = "none",
         .help = "exit with 1 where that cause costs more of a run's time, like "
                 "small-tiles:10% or any:20%; may be repeated: `pipeline list verdicts`",
         .with = "It is checked behind the report. Causes of less than 4 % are not told from "
                 "one another. A run for which none can be named at all fails, too."},
    [OPTION_START] = {"start", 0, "NAME[:N]|N", TYPE_NAME, PROGRAM_FIELD(record.start, RECORD),
                      .absent = "with the program",
                      .help = "record: begin with the first launch of the kernel, or begin of "
                              "the NVTX range, of that name, with the N-th, or with the N-th "
                              "pass of the program's loop",
                      .with = "Passes are counted by the NVTX range that begins N times before "
                              "any other does, and in a program without ranges by its calls "
                              "that wait, such as cudaStreamSynchronize(): the part begins "
                              "behind the N-th."},
    [OPTION_STOP] = {"stop", 0, "NAME", TYPE_NAME, PROGRAM_FIELD(record.stop, RECORD),
                     .absent = "with the program",
                     .help =
                         "record: end with the first launch of the kernel, or end of the NVTX "
                         "range, of that name after that, with the N-th of all, or with the "
                         "N-th pass of the program's loop"},
    [OPTION_LIMIT] = {"limit", 0, "SIZE", TYPE_NUMBER,
                      PROGRAM_FIELD(record.limit_bytes, RECORD), .fallback = "1G",
                      .least = 4096, .most = 1ull << 40, .suffixes = true,
                      .help = "record: bytes of one recording, which ends there; the program "
                              "goes on"},
    [OPTION_BACKTRACE] = {"backtrace", 0, NULL, TYPE_FLAG,
                          PROGRAM_FIELD(record.backtrace, RECORD),
                          .help = "record: with the place in the program that made each call, "
                                  "which takes time"},
    [OPTION_QUICK] = {"quick", 0, NULL, TYPE_FLAG, PROGRAM_FIELD(quick, BENCH),
                      .help = "bench: smaller and fewer, to see that it works"},
    [OPTION_FIX] = {"fix", 0, NULL, TYPE_FLAG,
                    PROGRAM_FIELD(fix, 1u << COMMAND_RUN | 1u << COMMAND_LESSON | VIEW),
                    .help = "beside each run, one with the best settings that the simulator "
                            "found; view: beside a recording, it as simulated with the best "
                            "fixes",
                    .with = "With `pipeline view` it needs the whole recording: not --window, "
                            "--stream or --dry-run."},
    [OPTION_CALIBRATE] = {"calibrate", 0, NULL, TYPE_FLAG,
                          PROGRAM_FIELD(calibrate, VIEW | 1u << COMMAND_COMPARE),
                          .help =
                              "view: measure the CUDA device that is here first, which "
                              "takes a while, and try the fixes of a recording on "
                              "that, not on the machine file of the device's name; compare: "
                              "measure first what calls cost the device's host, and "
                              "predict with that, and with what each run measures of its CPU "
                              "and of several devices at once, in the machine file's place",
                          .with = "With `pipeline compare` it needs a device that is not its "
                                  "own machine file, and does not go with --dry-run."},
    [OPTION_ANONYMOUS] = {"anonymous", 0, NULL, TYPE_FLAG,
                          PROGRAM_FIELD(anonymous, RUNS | VIEW | RECORD),
                          .help = "leave out of files and reports who wrote them: folders of "
                                  "files, names of hosts and of the program that was "
                                  "recorded, template arguments of kernels"},
    [OPTION_DRY_RUN] = {"dry-run", 0, NULL, TYPE_FLAG, PROGRAM_FIELD(dry_run, RUNS | VIEW),
                        .help =
                            "print the plan, run nothing; of `view`, the plan that a recording "
                            "shows"},
    [OPTION_QUIET] = {"quiet", 'q', NULL, TYPE_FLAG, PROGRAM_FIELD(quiet, ALL_COMMANDS),
                      .help = "no progress and no notes"},
    [OPTION_VERBOSE] = {"verbose", 'v', NULL, TYPE_TALLY, PROGRAM_FIELD(verbose, RUNS | VIEW),
                        .help = "say more; may be repeated",
                        .with = "Only --format=text uses it."},
    [OPTION_NO_COLOR] = {"no-color", 0, NULL, TYPE_FLAG, PROGRAM_FIELD(no_color, ALL_COMMANDS),
                         .help = "no colour, on a terminal either"},
    [OPTION_VERSION] = {"version", 0, NULL, TYPE_COMMAND, PROGRAM_FIELD(command, ALL_COMMANDS),
                        .help = "print the version"},
    [OPTION_HELP] = {"help", 'h', NULL, TYPE_COMMAND, PROGRAM_FIELD(command, ALL_COMMANDS),
                     .help = "print this"},
};

const struct option_row *option_find(const char *name)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (strcmp(option_rows[i].name, name) == 0)
            return &option_rows[i];
    }
    return NULL;
}

const struct option_row *option_find_typed(const char *typed)
{
    const char *name = typed + strspn(typed, "-");
    for (int i = 0; i < OPTION_COUNT && name[0] != '\0' && name[1] == '\0'; i++) {
        if (option_rows[i].letter == name[0])
            return &option_rows[i];
    }
    return option_find(name);
}

const struct command_row *command_find(const char *name)
{
    for (const struct command_row *row = command_rows; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0)
            return row;
    }
    return NULL;
}

bool option_is_taken(const struct option_row *row, enum command command)
{
    return (row->commands >> command & 1) != 0;
}
