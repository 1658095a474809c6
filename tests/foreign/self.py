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
    command = [sys.executable, os.path.join(HERE, "foreign.py"), "judge", folder, folder, f"--table={folder}/table",
               f"--csv={folder}/judged.csv", *options]
    return subprocess.run(command, capture_output=True, text=True)


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

        done = judge(folder)
        with open(f"{folder}/judged.csv", newline="") as file:
            judged = {row["pair"]: row for row in csv.DictReader(file)}
        for pair, (right, accused, error) in EXPECTED.items():
            row = judged[pair]
            found = (not row["fault"], bool(row["twin"]), float(row["error"]) if row["error"] else None)
            if found != (right, accused, error):
                print(f"{pair}: {found}, not {(right, accused, error)}: {row}")
                faults += 1
        if done.returncode != 1 or "right in 3 of 8; twins accused: 2 of 7" not in done.stdout:
            print(f"exit code {done.returncode}: {done.stdout}{done.stderr}")
            faults += 1
        for options, code in (((), 0), (("--median=0.09",), 1), (("--worst=0.09", "--median=1"), 1)):
            done = judge(folder, "--pair=good", "--worst=0.15", "--median=0.11", *options)
            if done.returncode != code:
                print(f"{options}: exit code {done.returncode}, not {code}: {done.stdout}{done.stderr}")
                faults += 1
        os.mkdir(f"{folder}/empty")
        done = subprocess.run([f"{HERE}/judge.sh", folder, f"{folder}/empty"], capture_output=True, text=True)
        if done.returncode != 77:
            print(f"no recordings: exit code {done.returncode}: {done.stdout}{done.stderr}")
            faults += 1
    print("the judge of the foreign pairs: " + (f"{faults} faults" if faults else "tells right from wrong"))
    return 1 if faults else 0


sys.exit(main())
