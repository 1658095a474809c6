#!/bin/sh
# run_nasty.sh BUILD [HOW...] - on a GPU: programs that make recording hard (tests/foreign/nasty) print and end
# the same with the recorder as without, and what was recorded can be read. Exits with 77 without a device.
exec python3 "$(dirname "$0")/nasty.py" "$@"
