#!/bin/sh
# judge.sh BUILD [FOLDER] [--pair=PAIR] - judges recordings of the foreign pairs, and says how often
# the first verdict is right, which right twins are accused, and how far predictions are off. Needs no
# GPU. Exits with 1 where that is worse than promised (--right, --accused, --median, --worst), and
# with 77 where FOLDER, by default tests/foreign/recordings, has no recordings.
exec python3 "$(dirname "$0")/foreign.py" judge "$@"
