#!/usr/bin/env python3
"""Records the foreign pairs on a GPU, and judges what `pipeline view` says of recordings of them.

run.sh and judge.sh call this; README.md beside it tells what the pairs are.
"""
import argparse
import concurrent.futures
import csv
import glob
import gzip
import json
import lzma
import math
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TWINS = ("wrong", "right")
ACCUSED_SHARE = 0.08  # of the time: from here on, a verdict on a right program is a false one
# What bounds any program, and what is no accusation.
BOUNDS = {"copy-bound", "kernel-bound", "cpu-bound", "rest", "unknown", "short-run"}
BARE_FIELDS = ["pair", "twin", "median_ms", "least_ms", "most_ms", "recorded_ms", "same", "each_ms"]
CUDA_HOME = os.environ.get("CUDA_HOME", "/usr/local/cuda")


# --- the table ---


def read_table(folder=None, path=None):
    """Returns the pairs of a table; of a set in a folder of its own, also where the source of each is."""
    rows = []
    with open(path or os.path.join(folder or HERE, "foreign.txt")) as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                pair, environment, first, also, evidence, hazard, predicted, notes = line.split(None, 7)
                rows.append({
                    "pair": pair,
                    "source": (glob.glob(f"{folder}/{pair}.[cp]*") or [f"{folder}/{pair}.cu"])[0] if folder else None,
                    "blind": os.path.isdir(os.path.join(HERE, "blind", pair)),
                    "environment": dict([environment.split("=", 1)]) if environment != "-" else {},
                    "first": first,
                    "also": set(also.split(",")) - {"-"},
                    "evidence": evidence,
                    "hazard": hazard,
                    "predicted": predicted == "yes",
                    "notes": notes.strip(),
                })
    return rows


def chosen(rows, pairs):
    unknown = set(pairs) - {row["pair"] for row in rows}
    if unknown:
        sys.exit(f"foreign: there is no pair {', '.join(sorted(unknown))} in foreign.txt")
    return [row for row in rows if not pairs or row["pair"] in pairs]


# --- running ---


def commands_of(row, build):
    """Returns how each twin is called."""
    if not row["source"]:
        return {twin: [os.path.join(build, "foreign", f"{row['pair']}-{twin}")] for twin in TWINS}
    if row["source"].endswith(".py"):
        return {twin: ["python3", row["source"], twin] for twin in TWINS}
    folder = os.path.join(build, "foreign", os.path.basename(os.path.dirname(row["source"])))
    return {twin: [os.path.join(folder, f"{row['pair']}-{twin}")] for twin in TWINS}


def run_program(command, environment, limit=30):
    """Returns what a program did: its exit code, its words less the time, and its time in ms."""
    libraries = [os.path.join(CUDA_HOME, "lib64"), os.environ.get("LD_LIBRARY_PATH", "")]
    if "python3" in command:
        del libraries[0]  # packages bring libraries of their own, which another version must not stand in for
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, libraries)), **environment}
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
    try:
        out, err = process.communicate(timeout=limit)
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode  # as a shell has it
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        code = "timeout"
    found = re.search(r"^(?:time|pass)_ms=([0-9.]+)$", out, re.M)
    words = re.sub(r"^(?:time|pass)_ms=.*\n", "", out, flags=re.M)
    return {"code": code, "out": words, "err": err, "ms": float(found.group(1)) if found else None}


def difference(bare, recorded):
    """Returns what recording changed, or "yes" where all is the same."""
    for part, name in (("code", "exit code"), ("out", "output"), ("err", "errors")):
        if bare[part] != recorded[part]:
            return f"{name}: {str(bare[part])[-100:]!r} became {str(recorded[part])[-300:]!r}"
    return "yes"


def has_device():
    import ctypes
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def record_pair(row, arguments, folder, late):
    """Runs both twins bare in turns, then records both. Returns a row of bare.csv for each that was recorded."""
    programs = commands_of(row, arguments.build)
    shared = {"FOREIGN_LOCK": os.path.join(os.path.dirname(folder), "lock")} if row["source"] else {}
    environment = {"wrong": dict(row["environment"], **shared), "right": shared}
    limit, options = (60, "") if row["source"] else (30, "--start=work --stop=work")
    bare = {twin: [] for twin in TWINS}
    for twin in TWINS * arguments.repeats:
        if not late():
            bare[twin].append(run_program(programs[twin], environment[twin], limit))
    if any(run["code"] == 77 for runs in bare.values() for run in runs):
        print(f"  {row['pair']}: is left out here: {bare[TWINS[0]][0]['err'].strip()}", flush=True)
        return []
    results = []
    for twin in TWINS:
        if late():
            break
        recording = os.path.join(folder, f"{row['pair']}-{twin}.jsonl")
        command = [os.path.join(arguments.build, "pipeline"), "record", "-q", "-o", recording]
        command += shlex.split(os.environ.get("RECORD_OPTIONS", options))
        recorded = run_program(command + ["--", *programs[twin]], environment[twin], limit)
        same = difference(bare[twin][0], recorded)
        for run in bare[twin][1:]:
            if difference(bare[twin][0], run) != "yes":
                same = f"not even bare: {difference(bare[twin][0], run)}"
        times = [run["ms"] for run in bare[twin] if run["ms"] is not None]
        results.append({
            "pair": row["pair"], "twin": twin, "recorded_ms": recorded["ms"] or "", "same": same,
            "median_ms": round(statistics.median(times), 4) if times else "",
            "least_ms": min(times, default=""), "most_ms": max(times, default=""), "each_ms": " ".join(map(str, times)),
        })
        words = f"{results[-1]['median_ms']} ms, recorded {recorded['ms']} ms"
        if same != "yes":
            words += f"; {same}"
        elif bare[twin][0]["code"] != 0:
            words += f"; exits with {bare[twin][0]['code']}: {(bare[twin][0]['err'] or bare[twin][0]['out']).strip()}"
        print(f"  {row['pair']}-{twin}: {words}", flush=True)
    return results


def record_all(rows, arguments, folder):
    """Records pairs side by side, as many as there is time for, and packs what comes of a set."""
    end = time.monotonic() + (arguments.seconds or math.inf)

    def record(row):
        try:
            results = record_pair(row, arguments, folder, lambda: time.monotonic() >= end)
        except OSError as error:
            print(f"  {row['pair']}: could not be run: {error}", flush=True)
            return []
        for path in glob.glob(os.path.join(glob.escape(folder), f"{row['pair']}-*.jsonl")) if row["source"] else []:
            with open(path, "rb") as plain, lzma.open(path + ".xz", "wb", preset=1) as packed:
                shutil.copyfileobj(plain, packed)
            os.remove(path)
        return results

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs or (4 if arguments.set else 1)) as pool:
        results = [result for results in pool.map(record, rows) for result in results]
    with open(os.path.join(folder, "bare.csv"), "w", newline="") as file:
        writer = csv.DictWriter(file, BARE_FIELDS)
        writer.writeheader()
        writer.writerows(results)
    return results


def run(arguments):
    if not has_device():
        print("foreign: there is no CUDA device: nothing was run")
        return 77
    begin = time.monotonic()
    os.makedirs(arguments.out, exist_ok=True)
    with tempfile.TemporaryDirectory() as top:
        folder = os.path.join(top, "recordings")
        os.mkdir(folder)
        rows = chosen(read_table(arguments.set, arguments.table), arguments.pairs)
        results = record_all(rows, arguments, folder)
        kind = "xz" if arguments.set else "gz"
        with tarfile.open(os.path.join(arguments.out, "recordings.tar." + kind), "w:" + kind) as tar:
            tar.add(folder, "recordings")
        print(f"recorded {len(results)} of {2 * len(rows)} in {time.monotonic() - begin:.0f} s")
        if not arguments.set:
            arguments.folder = folder
            arguments.csv = os.path.join(arguments.out, "foreign.csv")
            judge(arguments)
            print(f"all in {time.monotonic() - begin:.0f} s")
    changed = sum(result["same"] != "yes" for result in results)
    if changed:
        print(f"{changed} programs did not do the same when recorded")
    return 1 if changed or not results else 0


# --- judging ---


def recordings_of(folder, name):
    """Returns the recordings of a program: its own first, then those of its children."""
    found = []
    for ending in ("", ".xz", ".gz"):
        found += glob.glob(os.path.join(glob.escape(folder), f"{name}.jsonl{ending}"))
        found += sorted(glob.glob(os.path.join(glob.escape(folder), f"{name}.[0-9]*.jsonl{ending}")))
    return found


def view(pipeline, path):
    """Returns the report of one recording, or a text that says why there is none."""
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(os.path.splitext(path)[1], open)
    with tempfile.TemporaryDirectory() as folder:
        plain = os.path.join(folder, os.path.basename(path).split(".jsonl")[0] + ".jsonl")
        with opener(path, "rb") as packed, open(plain, "wb") as file:
            shutil.copyfileobj(packed, file)
        command = [pipeline, "view", "-q", "--format=json"] + shlex.split(os.environ.get("VIEW_OPTIONS", "")) + [plain]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
            return json.loads(done.stdout)["runs"][0]
        except subprocess.TimeoutExpired:
            return "view did not end within 120 s"
        except (ValueError, LookupError):
            return f"view exits with {done.returncode}: {done.stderr.strip()[-200:]}"


def named(report):
    return [v for v in report["verdicts"] if v["named"] and v["code"] not in ("rest",)]


def judge_first(row, report):
    """Returns the first verdict, and what is wrong with it, or None."""
    if isinstance(report, str):
        return None, report
    if not named(report):
        return None, report.get("no_verdict") or "no verdict"
    first = named(report)[0]
    if first["code"] != row["first"] and first["code"] not in row["also"]:
        return first, f"should be {row['first']}"
    if row["evidence"] == "certain" and first["evidence"] != "certain":
        return first, f"is {first['evidence']}, should be certain"
    races = report["hazards"] + (report.get("possible_hazards", []) if row["hazard"] == "possible" else [])
    if row["hazard"] != "-" and not races:
        return first, "names no race"
    return first, None


def judge_twin(report):
    """Returns what the right twin is accused of, as (code, share), or a text where it can't be told."""
    if isinstance(report, str):
        return report
    accused = [(v["code"], v["share"]) for v in named(report)
               if v["code"] not in BOUNDS and (v["share"] >= ACCUSED_SHARE or v["code"] == "missing-wait")]
    return accused + ([("hazard", 1.0)] if report["hazards"] else [])


def read_bare(folder):
    path = os.path.join(folder, "bare.csv")
    if not os.path.exists(path):
        return {}
    with open(path, newline="") as file:
        return {(row["pair"], row["twin"]): row for row in csv.DictReader(file)}


def own_pass(report, predicted, own):
    """Returns what is predicted for a pass as the program counts them, given how long one of those took when recorded.

    What was found to repeat may be some of the program's passes, or a part of one; without that, it is the whole run.
    """
    ratio = own / (report.get("pass_ms") or report["time_ms"])
    return predicted / (report.get("passes") or 1) * (round(ratio) if ratio >= 1 else 1 / round(1 / ratio))


def judge_pair(row, pipeline, folder, bare):
    last = 1 if row["source"] else None  # a set's programs loop in their first process
    wrong = [view(pipeline, path) for path in recordings_of(folder, row["pair"] + "-wrong")[:last]]
    right = [view(pipeline, path) for path in recordings_of(folder, row["pair"] + "-right")[:last]]
    first, fault = judge_first(row, wrong[0] if wrong else "no recording")
    for child in wrong[1:]:
        fault = fault or judge_first(row, child)[1]
    accused = []
    for twin in right or ["no recording"]:
        found = judge_twin(twin)
        accused = accused if isinstance(accused, str) else found if isinstance(found, str) else accused + found
    measured = bare.get((row["pair"], "right"), {}).get("median_ms")
    predicted = ((first or {}).get("fix") or {}).get("predicted_ms") if fault is None else None
    if row["source"] and predicted:
        recorded = bare.get((row["pair"], "wrong"), {}).get("recorded_ms")
        predicted = own_pass(wrong[0], predicted, float(recorded)) if recorded else None
    error = None
    if row["predicted"] and predicted and measured:
        error = predicted / float(measured) - 1
    return {
        "pair": row["pair"], "blind": "yes" if row["blind"] else "no",
        "expected": ",".join([row["first"], *sorted(row["also"])]),
        "first": first["code"] if first else "", "share": f"{first['share']:.3f}" if first else "",
        "evidence": first["evidence"] if first else "", "fault": fault or "",
        "twin": accused if isinstance(accused, str) else " ".join(f"{c} {s:.0%}" for c, s in accused),
        "wrong_ms": bare.get((row["pair"], "wrong"), {}).get("median_ms", ""), "right_ms": measured or "",
        "predicted_ms": predicted or "", "error": "" if error is None else f"{error:.4f}",
        "same": "; ".join(sorted({bare.get((row["pair"], t), {}).get("same", "") for t in ("wrong", "right")} - {"yes", ""})) or "yes",
        "accused": isinstance(accused, list) and bool(accused), "unjudged": isinstance(accused, str), "asked": row["predicted"],
    }


def milliseconds(text):
    return f"{float(text):7.{1 if float(text) >= 100 else 3}f}" if text else f"{'-':>7}"


def say_pair(result):
    verdict = f"{result['first'] or '-':<21} {float(result['share'] or 0):4.0%} {result['evidence'] or '-':<8}"
    times = " ".join(milliseconds(result[key]) for key in ("wrong_ms", "right_ms", "predicted_ms"))
    error = f"{float(result['error']):+6.1%}" if result["error"] else "     -"
    words = [f"WRONG: {result['fault']}"] if result["fault"] else []
    words += [f"twin: {result['twin']}"] if result["twin"] else []
    words += [f"not the same: {result['same']}"] if result["same"] != "yes" else []
    name = result["pair"] + ("*" if result["blind"] == "yes" else "")
    print(f"{name:<17} {verdict} {times} {error}  {'; '.join(words)}".rstrip(), flush=True)


def summary(results):
    """Prints the sums. Returns the part of right verdicts, the accused twins, and the errors' size."""
    right = sum(not r["fault"] for r in results)
    accused = sum(r["accused"] for r in results)
    unjudged = sum(r["unjudged"] for r in results)
    errors = sorted(abs(float(r["error"])) for r in results if r["error"])
    line = f"first verdict right in {right} of {len(results)}; twins accused: {accused} of {len(results) - unjudged}; "
    line += f"unknown first: {sum(r['first'] == 'unknown' for r in results)}; "
    if errors:
        line += f"predicted ({len(errors)} of {sum(r['asked'] for r in results)}): "
        line += f"median error {statistics.median(errors):.1%}, p90 {errors[math.ceil(0.9 * len(errors)) - 1]:.1%}, "
        line += f"worst {errors[-1]:.1%}"
    else:
        line += "nothing predicted"
    blind = [r for r in results if r["blind"] == "yes"]
    if blind:
        line += f"; blind: {sum(not r['fault'] for r in blind)} of {len(blind)}"
    print(line)
    return right / len(results), accused + unjudged, errors


def judge(arguments):
    arguments.folder = arguments.folder or os.path.join(arguments.set or HERE, "recordings")
    bare = read_bare(arguments.folder)
    rows = chosen(read_table(arguments.set, arguments.table), arguments.pairs)
    if not any(recordings_of(arguments.folder, f"{row['pair']}-{twin}") for row in rows for twin in TWINS):
        print(f"foreign: there are no recordings in {arguments.folder}: nothing was judged")
        return 77
    print(f"{'pair':<17} {'first verdict':<21} {'':>4} {'evidence':<8} {'wrong':>7} {'right':>7} {'fixed':>7} {'error':>6}  (ms; *: blind)")
    results = []
    pipeline = os.path.join(arguments.build, "pipeline")
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs or 1) as pool:
        for result in pool.map(lambda row: judge_pair(row, pipeline, arguments.folder, bare), rows):
            results.append(result)
            say_pair(result)
    right, accused, errors = summary(results)
    if arguments.csv:
        with open(arguments.csv, "w", newline="") as file:
            writer = csv.DictWriter(file, [k for k in results[0] if k not in ("accused", "unjudged", "asked")],
                                    extrasaction="ignore")
            writer.writeheader()
            writer.writerows(results)
    asked = any(r["asked"] for r in results)
    good = right >= arguments.right and accused <= arguments.accused and (not asked or bool(errors))
    if errors:
        good = good and statistics.median(errors) <= arguments.median and max(errors) <= arguments.worst
    return 0 if good else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run", help="run and record the pairs on a GPU, and judge them")
    running.set_defaults(function=run)
    judging = commands.add_parser("judge", help="judge recordings of the pairs")
    judging.set_defaults(function=judge)
    for command in (running, judging):
        command.add_argument("build", help="the folder with pipeline, and with foreign/")
        command.add_argument("--set", type=os.path.abspath, help="a folder with a table and sources of its own")
        command.add_argument("--table", help="another table than the set's")
        command.add_argument("--jobs", type=int, help="how many pairs side by side (of a set 4 are run so, else 1)")
        command.add_argument("--csv", help="a file for the judgement")
        command.add_argument("--right", type=float, default=0.9, help="least part of right first verdicts")
        command.add_argument("--accused", type=int, default=0, help="most right twins accused")
        command.add_argument("--median", type=float, default=0.05, help="most median error of predictions")
        command.add_argument("--worst", type=float, default=0.15, help="most error of a prediction")
    running.add_argument("out", help="a folder for what comes of it")
    running.add_argument("pairs", nargs="*", metavar="PAIR")
    running.add_argument("--repeats", type=int, default=3, help="bare runs of each twin")
    running.add_argument("--seconds", type=float, help="start no more programs after that time")
    judging.add_argument("folder", nargs="?", help="recordings, by default those beside the table")
    judging.add_argument("--pair", dest="pairs", action="append", default=[])
    arguments = parser.parse_args()
    sys.exit(arguments.function(arguments))


if __name__ == "__main__":
    main()
