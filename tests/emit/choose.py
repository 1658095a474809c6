#!/usr/bin/env python3
"""choose.py PIPELINE CHECK - chooses the settings of --emit that the tiers compile: chosen.txt.

Of settings.txt it takes, one after the other, the one that adds the most, until the chosen ones
reach every branch of the emitter that any of them reaches, have each value of each option, and
have each two options together that any of them has. PIPELINE was compiled with --coverage; the
tests in CHECK write the settings with it. `make emit-choice` builds both, and calls this.
"""
import itertools, json, os, re, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# Numbers alone, which are no features.
NUMBERS = {"columns", "halo", "steps", "rows", "inner", "intensity", "tile-width", "batch", "seed", "cpu-share", "stride"}
# Kernels by what is written for them; "" is the simplest.
SHAPES = [(r"\./", "own"), (r"reduce-|sum|finite|all$", "value"), (r"transpose", "transpose"), (r"scan", "scan"),
          (r"wave", "two inputs"), (r"(dgemm|stencil|stride-copy)$", None)]


def shape(kernel):
    for pattern, name in SHAPES:
        if re.match(pattern, kernel):
            return name or kernel
    return ""


def features(setting):
    """The values that a setting gives to options, and what its kernels and tiles are."""
    words, found = setting.split(), set()
    for word, value in zip(words, words[1:] + [""]):
        if word == "-k":
            kernels = value.split(",")
            found |= {shape(kernel) for kernel in kernels} | ({"chain"} if len(kernels) > 1 else set())
        elif word == "-t":
            found |= {"one tile"} if value == "1" else {"uneven tiles"} if value in ("30", "31") else set()
        elif word.startswith("--"):
            name = word[2:].split("=")[0]
            found |= set() if name in NUMBERS else {name} if name in ("device", "priorities") else {word[2:]}
    return found - {""}


def branches(folder, objects):
    """The branches of the emitter that the run took whose counters lie in `folder`."""
    taken = set()
    for name in os.listdir(objects):
        if name.endswith(".gcno"):
            os.symlink(os.path.join(objects, name), os.path.join(folder, name))
    files = [name for name in os.listdir(folder) if name.endswith(".gcda")]
    said = subprocess.run(["gcov", "-b", "-j", "-t"] + files, cwd=folder, capture_output=True, check=True).stdout
    for line in said.splitlines():
        for file in json.loads(line)["files"]:
            for at in file["lines"]:
                taken |= {(file["file"], at["line_number"], i) for i, branch in enumerate(at["branches"]) if branch["count"]}
    return taken


def main():
    pipeline, check = map(os.path.abspath, sys.argv[1:])
    with open(HERE + "/settings.txt") as file:
        settings = file.read().splitlines()
    gains = {}
    with tempfile.TemporaryDirectory() as work:
        wrapper = work + "/pipeline"
        with open(wrapper, "w") as file:
            file.write(f'#!/bin/sh\nmkdir {work}/$$ && echo "$*" >{work}/$$/words\n'
                       f'GCOV_PREFIX={work}/$$ exec {pipeline} "$@"\n')
        os.chmod(wrapper, 0o755)
        subprocess.run([check], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, CK_RUN_SUITE="emit", CK_RUN_CASE="settings", CK_FORK="no",
                                EMIT_PROGRAM=wrapper, EMIT_SETTINGS=HERE + "/settings.txt"))
        for run in sorted(name for name in os.listdir(work) if name.isdigit()):
            with open(f"{work}/{run}/words") as file:
                setting = re.search(r"-n \d+ (.*?)(?: --intensity=5)? --emit=tiles.cu$", file.read().strip()).group(1)
            for folder, _, _ in os.walk(f"{work}/{run}"):
                if folder.endswith("/src/emit"):
                    taken = branches(folder, folder[len(f"{work}/{run}"):])
            have = features(setting)
            names = sorted({name.split("=")[0] for name in have})
            gains[setting] = taken | have | set(itertools.combinations(names, 2))
    chosen, left = [], set().union(*gains.values())
    print(f"{len(gains)} settings: {sum(len(x) == 3 for x in left)} branches, "
          f"{sum(isinstance(x, str) for x in left)} values, {sum(len(x) == 2 for x in left)} pairs")
    while left:
        best = max(settings, key=lambda setting: len(gains.get(setting, set()) & left))
        chosen.append(best)
        left -= gains[best]
    with open(HERE + "/chosen.txt", "w") as file:
        file.writelines(setting + "\n" for setting in settings if setting in chosen)
    print(f"chosen.txt: {len(chosen)}")


main()
