#!/usr/bin/env python3
"""draw.py SEED FOLDER - draws 40 CUDA programs with a race and 60 right ones into FOLDER.

    tests/cpu/draw.py 1 build/races

Each is a program of its own, as a student might write it: FOLDER/race-01.cu has one order too few,
and right-01.cu is the same with that order; right-41.cu and those behind it have no twin. A
comment at the top says what a program is, and between which two lines it races.

A file of shapes/ is a program with its ways to go wrong: `#race KIND CLASS: words` and `#right
KIND: words`. Behind `//~`, a line says of which kinds it is no part (-KIND), of which alone it is
one (+KIND), and where it is the first (A) or second (B) line of a race. Sizes, types, names, how
memory is taken and errors are checked are drawn. Two in five kinds of a class are kept for the
blind draw, half of which is made of them: no other draw has them.
"""
import glob, os, random, re, sys

HERE = os.path.dirname(os.path.abspath(__file__))
BLIND = 91149
QUOTA = {"copy-copy": 6, "copy-kernel": 10, "kernel-kernel": 8, "host": 9, "freed": 4, "pageable": 3}
RIGHTS = 60
NAMES = [("signal", "filtered", "smooth", "join"), ("pixels", "shaded", "shade", "blend"), ("prices", "returns", "change", "total"),
         ("heights", "slopes", "slope", "fold"), ("h_x", "h_y", "transform", "collect"), ("samples", "levels", "amplify", "mix"),
         ("arg", "res", "work_on", "finish"), ("host_in", "host_out", "process", "combine"), ("doses", "effects", "respond", "gather")]
EXPRESSIONS = ["(v * 2 + 1)", "(v + 3)", "(v * v + 2)", "(v * 3 - 1)", "(v - v / 2)"]


def shapes():
    """All shapes: name, lines, and kinds as (kind, class or None, words)."""
    for path in sorted(glob.glob(os.path.join(HERE, "shapes", "*"))):
        lines = open(path).read().split("\n")
        heads = [re.match(r"#(race|right) (\S+)(?: (\S+))?: (.*)", line) for line in lines if line.startswith("#")]
        kinds = [(head[2], head[3], head[4]) for head in heads]
        yield os.path.basename(path), [line for line in lines if not line.startswith("#")], kinds


def options(rng):
    """What is drawn of a program, whatever its shape."""
    elements, tiles = rng.choice([(16384, 12), (65536, 8), (65536, 6), (131072, 6), (25600, 10), (100096, 6), (262144, 4), (524288, 4)])
    source, result, first, second = rng.choice(NAMES)
    return {"T": rng.choice(["float", "float", "int", "double"]), "N": elements, "TILES": tiles, "K": rng.choice([2, 2, 3, 4]),
            "in": source, "out": result, "kern2": second, "kern": first, "E": rng.choice(EXPRESSIONS),
            "threads": rng.choice([128, 256, 256, 512]), "stride": rng.random() < 0.3, "blocking": rng.random() < 0.5,
            "pinned": rng.choice(["malloc", "malloc", "alloc", "register"]), "timing": rng.random() < 0.5,
            "check": rng.choice(["", "", "CHECK", "ok"]), "frees": rng.random() < 0.7}


def statements(line, o):
    """A line of a shape as lines of CUDA: what begins with @ depends on what was drawn."""
    match = re.match(r"(\s*)@(\w+) (.*)", line)
    if not match:
        return [line]
    indent, word, rest = match.groups()
    name = rest.split(" ")[0]
    size = "(%s) * sizeof($T)" % rest[len(name) + 1:] if " " in rest[len(name) + 1:] else rest[len(name) + 1:] + " * sizeof($T)"
    blocking = word == "blocking" or word == "stream" and o["blocking"]
    made = {"each": lambda: ["int i = blockIdx.x * blockDim.x + threadIdx.x;", "if (i < n)", "    " + rest[3:]] if not o["stride"] else
            ["for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)", "    " + rest[3:]],
            "device": lambda: ["cudaMalloc(&%s, %s);" % (name, size)],
            "free": lambda: ["cudaFree(%s);" % name] if o["frees"] else [],
            "event": lambda: ["cudaEventCreate(&%s);" % name if o["timing"] else
                              "cudaEventCreateWithFlags(&%s, cudaEventDisableTiming);" % name],
            "unpin": lambda: ["cudaHostUnregister(%s);" % name, "free(%s);" % name] if o["pinned"] == "register" else
            ["cudaFreeHost(%s);" % name],
            "pinned": lambda: {"malloc": ["$T *%s;" % name, "cudaMallocHost(&%s, %s);" % (name, size)],
                               "alloc": ["$T *%s;" % name, "cudaHostAlloc(&%s, %s, cudaHostAllocDefault);" % (name, size)],
                               "register": ["$T *%s = ($T *)malloc(%s);" % (name, size),
                                            "cudaHostRegister(%s, %s, cudaHostRegisterDefault);" % (name, size)]}[o["pinned"]],
            }.get(word, lambda: ["cudaStreamCreate(&%s);" % name if blocking else
                                 "cudaStreamCreateWithFlags(&%s, cudaStreamNonBlocking);" % name])
    return [indent + text for text in made()]


def filled(text, o):
    """A line with what was drawn in place of $words."""
    text = re.sub(r"\$E\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)", lambda m: o["E"].replace("v", m[1]), text)
    text = re.sub(r"\$(\w+)", lambda m: str(o[m[1]]), text)
    if o["check"] and re.match(r"\s*cuda\w+\(.*\);$", text):
        text = re.sub(r"(cuda.*);$", o["check"] + r"(\1);", text)
    return text


def program(shape, kind, o, head):
    """The text of a program: of a shape, as a kind of it (None: as it should be)."""
    name, lines, kinds = shape
    made = ["", "#include <cuda_runtime.h>", "#include <cstdio>", "#include <cstdlib>", "#include <vector>"]
    made += ["#include <unistd.h>"] if kind == "sleep" else []
    made += {"": [], "CHECK": ["", "#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) {" +
                               ' printf("%s, line %d\\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)'],
             "ok": ["", "static void ok(cudaError_t error)", "{", "    if (error != cudaSuccess) {",
                    '        fprintf(stderr, "%s\\n", cudaGetErrorString(error));', "        exit(1);", "    }", "}"]}[o["check"]]
    made += ["", "const int N = %d, K = %d, TILES = %d, THREADS = %d;" % (o["N"], o["K"], o["TILES"], o["threads"]),
             "const int BLOCKS = %s;" % ("64" if o["stride"] else "(N + THREADS - 1) / THREADS"), ""]
    ends = {}
    for line in lines:
        text, _, tail = line.partition(" //~ ")
        marks = dict(re.findall(r"([-+AB]):?(\S*)", tail))
        if "-" in marks and kind in marks["-"].split(",") or "+" in marks and kind not in marks["+"].split(","):
            continue
        for end in "AB":
            if end in marks and (not marks[end] or kind in marks[end].split(",")):
                ends[end] = len(made) + 1
        made += [filled(text, o) for text in statements(text, o)]
    lines = " between line %d and line %d:" % (ends["A"], ends["B"]) if head.startswith("race") else ""
    made[0] = "/* %s:%s %s */" % (head, lines, next((words for k, _, words in kinds if k == kind), "every order is there"))
    return "\n".join(made)


def dealt(rng, cards, count):
    """So many cards, of a deck that is shuffled again when it is empty."""
    taken = []
    while cards and len(taken) < count:
        taken += rng.sample(cards, len(cards))
    return taken[:count]


def draw(seed, folder):
    rng, lot = random.Random(seed), random.Random(BLIND)
    every = list(shapes())
    races = []
    for name, quota in QUOTA.items():
        kinds = [(shape, kind[0]) for shape in every for kind in shape[2] if kind[1] == name]
        lot.shuffle(kinds)
        kept = len(kinds) * 2 // 5
        chosen = dealt(rng, kinds[:kept], quota // 2) if seed == BLIND else []
        races += [(*card, name) for card in chosen + dealt(rng, kinds[kept:], quota - len(chosen))]
    rights = [(shape, kind[0]) for shape in every for kind in shape[2] if kind[1] is None]
    rights = dealt(rng, rights + [(shape, None) for shape in every], RIGHTS - len(races))
    os.makedirs(folder, exist_ok=True)

    def put(name, text):
        with open(os.path.join(folder, name + ".cu"), "w") as file:
            file.write(text)

    for number, (shape, kind, name) in enumerate(races, 1):
        o = options(rng)
        put("race-%02d" % number, program(shape, kind, o, "race, %s (%s, %s)" % (name, shape[0], kind)))
        put("right-%02d" % number, program(shape, None, o, "right (%s)" % shape[0]))
    for number, (shape, kind) in enumerate(rights, len(races) + 1):
        put("right-%02d" % number, program(shape, kind, options(rng), "right (%s, %s)" % (shape[0], kind or "plain")))


if __name__ == "__main__":
    if len(sys.argv) != 3 or not sys.argv[1].isdigit():
        sys.exit("usage: draw.py SEED FOLDER")
    draw(int(sys.argv[1]), sys.argv[2])
