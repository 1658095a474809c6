#!/usr/bin/env python3
"""Holds that recording harms no program: same output, same errors, same end, and a recording that can be read.

    nasty.py BUILD [HOW...]

Runs `nasty` each way, and two programs without CUDA, bare and recorded. Exits with 77 where there is no device.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from foreign import difference, has_device, run_program  # noqa: E402

# Ways in which the program that is recorded may use no CUDA, or be gone before anything could be kept.
# These end, or exec, within the tenth of a second in which what they did is not written yet, or leave no
# place to write it to.
MAY_HAVE_NONE = {"cupti_first", "exit_quietly", "abort_midway", "segv", "sigkill", "terminate", "close_last", "small_files",
                 "own_injection"}
REPEATS = 3  # what goes wrong now and then has to show


def recorded_ops(pipeline, path):
    """Returns how many ops a recording holds, and what is wrong with it, or None."""
    ops = 0
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        try:
            value = json.loads(line) if line else [""]
        except ValueError:
            if number == len(lines):
                continue  # cut there, which a reader takes for the end
            return ops, f"line {number} is no JSON: {line[:80]!r}"
        ops += value[0] in ("op", "kernel") if isinstance(value, list) else 0
    done = subprocess.run([pipeline, "view", "-q", "--format=json", path], capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 1) or (done.returncode and not done.stderr):
        return ops, f"view exits with {done.returncode}: {done.stderr.strip()[-200:]}"
    if done.returncode and ops:
        return ops, f"view: {done.stderr.strip()[-200:]}"
    return ops, None


def try_way(build, name, command):
    """Returns what is wrong, and what was recorded."""
    pipeline = os.path.join(build, "pipeline")
    words = ""
    for _ in range(REPEATS):
        bare = run_program(command, {})
        with tempfile.TemporaryDirectory() as folder:
            record = [pipeline, "record", "-q", "-o", os.path.join(folder, "nasty.jsonl"), "--"]
            recorded = run_program(record + command, {})
            same = difference(bare, recorded)
            if same != "yes":
                return same, words
            found = sorted(glob.glob(os.path.join(folder, "nasty*.jsonl")))
            words = f"{len(found)} recordings" if len(found) != 1 else "1 recording"
            total = 0
            for path in found:
                ops, fault = recorded_ops(pipeline, path)
                total += ops
                if fault:
                    return f"{os.path.basename(path)}: {fault}", words
            words += f", {total} ops; ends with {bare['code']}"
            if not total and name not in MAY_HAVE_NONE and not name.startswith("without CUDA"):
                return "nothing was recorded", words
    return None, words


def main():
    if not has_device():
        print("nasty: there is no CUDA device: nothing was run")
        return 77
    build = sys.argv[1]
    program = os.path.join(build, "foreign", "nasty")
    ways = subprocess.run([program], capture_output=True, text=True).stdout.split()
    trials = [(way, [program, way]) for way in ways]
    trials += [("without CUDA", ["echo", "no CUDA here"]), ("without CUDA, failing", ["sh", "-c", "echo oh >&2; exit 3"])]
    faults = 0
    for name, command in trials:
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        try:
            fault, words = try_way(build, name, command)
        except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
            fault, words = str(error), ""
        faults += fault is not None
        print(f"{name:<22} {'HARMED: ' + fault if fault else 'as it was'}{'; ' + words if words else ''}", flush=True)
    print(f"{faults} of {len(trials)} are not as without the recorder" if faults else "none was harmed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
