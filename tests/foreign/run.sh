#!/bin/sh
# run.sh BUILD OUT [PAIR...] - on a GPU: runs each foreign pair bare and recorded, and judges what
# `pipeline view` says of the recordings. OUT gets foreign.csv, the judgement, and recordings.tar.gz,
# what judge.sh takes. Exits with 77 where there is no device, and with 1 where recording changed what
# a program did. `make foreign` builds the pairs. RECORD_OPTIONS and VIEW_OPTIONS are given on.
exec python3 "$(dirname "$0")/foreign.py" run "$@"
