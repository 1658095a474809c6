#!/usr/bin/env python3
"""Holds that the judge of the foreign pairs tells right from wrong, on made-up answers of `pipeline view`."""
import csv
import json
import lzma
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = """\
good    -  sync-in-loop  -            certain  -        yes  a right first verdict, and a clean twin
other   -  one-stream    few-streams  likely   -        yes  the other right verdict
off     -  one-stream    -            likely   -        yes  a wrong first verdict
unsure  -  pageable-memory  -         certain  -        yes  the right verdict, not certain enough
race    -  missing-wait  -            likely   possible no   a race
norace  -  missing-wait  -            likely   possible no   a race that is not found
child   -  sync-in-loop  -            certain  -        no   right in one process, wrong in the other
mute    -  sync-in-loop  -            certain  -        yes  view fails
"""

# Pairs of a set, whose times are of a pass: what its report says beside a prediction of 30 ms, how long a pass took when
# recorded, which takes 5 ms in the right twin, and the error of the prediction.
SET = {
    "alike": ({"passes": 6, "pass_ms": 10.0}, 9.9, 0.0),
    "pairs": ({"passes": 6, "pass_ms": 20.0}, 9.0, -0.5),
    "parts": ({"passes": 24, "pass_ms": 2.5}, 10.2, 0.0),
    "whole": ({"time_ms": 61.0}, 10.0, 0.0),
    "fault": ({"passes": 6, "pass_ms": 10.0}, None, None),
}


def verdict(code, share=0.5, evidence="certain", predicted=None):
    fix = {"text": "", "command": None, "cuda": None, "predicted_ms": predicted}
    return {"code": code, "share": share, "named": True, "evidence": evidence, "fix": fix}


BOUND = [verdict("copy-bound", 0.9)]
ANSWERS = {
    "good-wrong": ([verdict("sync-in-loop", predicted=11.0), *BOUND], []),
    "good-right": ([verdict("few-tiles", 0.05), *BOUND], []),
    "other-wrong": ([verdict("few-streams", evidence="likely", predicted=9.8)], []),
    "other-right": ([verdict("one-stream", 0.2)], []),
    "off-wrong": ([verdict("few-tiles", predicted=10.0)], []),
    "off-right": (BOUND, []),
    "unsure-wrong": ([verdict("pageable-memory", evidence="likely", predicted=10.0)], []),
    "unsure-right": (BOUND, []),
    "race-wrong": ([verdict("missing-wait", 0, "likely")], ["A and B"]),
    "race-right": (BOUND, ["A and B"]),
    "norace-wrong": ([verdict("missing-wait", 0, "likely")], []),
    "norace-right": (BOUND, []),
    "child-wrong": ([verdict("sync-in-loop")], []),
    "child-wrong.77": (BOUND, []),
    "child-right": (BOUND, []),
}
# Of each pair: whether its first verdict is right, its twin accused, and the error of the prediction.
EXPECTED = {
    "good": (True, False, 0.1),
    "other": (True, True, -0.02),
    "off": (False, False, None),
    "unsure": (False, False, None),
    "race": (True, True, None),
    "norace": (False, False, None),
    "child": (False, False, None),
    "mute": (False, True, None),  # nothing is known of its twin: that is said, not passed over
}


def judge(folder, *options):
    command = [sys.executable, os.path.join(HERE, "foreign.py"), "judge", folder, folder, f"--csv={folder}/judged.csv"]
    return subprocess.run(command + list(options), capture_output=True, text=True)


def read_judged(folder):
    with open(f"{folder}/judged.csv", newline="") as file:
        return {row["pair"]: row for row in csv.DictReader(file)}


def judge_set(folder):
    """Returns how many predictions for a pass are not what they should be, where the loop found may not be the program's."""
    with open(f"{folder}/foreign.txt", "w") as table, open(f"{folder}/bare.csv", "w") as bare:
        bare.write("pair,twin,median_ms,recorded_ms\n")
        for pair, (report, recorded, _) in SET.items():
            table.write(f"{pair} - sync-in-loop - certain - yes a loop\n")
            bare.write(f"{pair},wrong,10,{recorded or ''}\n{pair},right,5,5\n")
            for twin, verdicts in (("wrong", [verdict("sync-in-loop", predicted=30.0)]), ("right", BOUND)):
                with open(f"{folder}/{pair}-{twin}.jsonl", "w") as file:
                    json.dump({"runs": [{"verdicts": verdicts, "hazards": [], **report}]}, file)
    done = judge(folder, f"--set={folder}", "--worst=0.5")
    faults = [f"{pair}: {row}" for pair, row in read_judged(folder).items()
              if (float(row["error"]) if row["error"] else None) != SET[pair][2]]
    if done.returncode != 0 or "right in 5 of 5; twins accused: 0 of 5; unknown first: 0" not in done.stdout:
        faults.append(f"a set: exit code {done.returncode}: {done.stdout}{done.stderr}")
    print("".join(f"{fault}\n" for fault in faults), end="")
    return len(faults)


def main():
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/table", "w") as file:
            file.write(TABLE)
        with open(f"{folder}/bare.csv", "w") as file:
            file.write("pair,twin,median_ms,least_ms,most_ms,recorded_ms,same\n")
            for pair in EXPECTED:
                file.write(f"{pair},wrong,20,20,20,20,yes\n{pair},right,10,10,10,10,yes\n")
        # The answer is the recording itself, which this pipeline hands back.
        with open(f"{folder}/pipeline", "w") as file:
            file.write('#!/bin/sh\nfor last; do :; done\ngrep -q . "$last" && exec cat "$last"\nexit 1\n')
        os.chmod(f"{folder}/pipeline", 0o755)
        for name, (verdicts, hazards) in ANSWERS.items():
            packed = name == "good-wrong"
            with lzma.open(f"{folder}/{name}.jsonl.xz", "wt") if packed else open(f"{folder}/{name}.jsonl", "w") as file:
                json.dump({"runs": [{"verdicts": verdicts, "hazards": hazards}]}, file)
        for twin in ("wrong", "right"):
            open(f"{folder}/mute-{twin}.jsonl", "w").close()

        table = f"--table={folder}/table"
        done = judge(folder, table)
        judged = read_judged(folder)
        for pair, (right, accused, error) in EXPECTED.items():
            row = judged[pair]
            found = (not row["fault"], bool(row["twin"]), float(row["error"]) if row["error"] else None)
            if found != (right, accused, error):
                print(f"{pair}: {found}, not {(right, accused, error)}: {row}")
                faults += 1
        if done.returncode != 1 or "right in 3 of 8; twins accused: 2 of 7; unknown first: 0" not in done.stdout:
            print(f"exit code {done.returncode}: {done.stdout}{done.stderr}")
            faults += 1
        for options, code in (((), 0), (("--median=0.09",), 1), (("--worst=0.09", "--median=1"), 1)):
            done = judge(folder, table, "--pair=good", "--worst=0.15", "--median=0.11", *options)
            if done.returncode != code:
                print(f"{options}: exit code {done.returncode}, not {code}: {done.stdout}{done.stderr}")
                faults += 1
        os.mkdir(f"{folder}/empty")
        done = subprocess.run([f"{HERE}/judge.sh", folder, f"{folder}/empty"], capture_output=True, text=True)
        if done.returncode != 77:
            print(f"no recordings: exit code {done.returncode}: {done.stdout}{done.stderr}")
            faults += 1
        faults += judge_set(folder)
    print("the judge of the foreign pairs: " + (f"{faults} faults" if faults else "tells right from wrong"))
    return 1 if faults else 0


sys.exit(main())
