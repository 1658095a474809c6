#!/bin/sh
# own.sh - `pipeline kernel check` on a GPU: a launcher that does what is asked of it is found right, also
# without a CPU twin, and each of those that don't is found wrong in these words.
#
#     tests/gpu/own.sh BUILD-FOLDER
set -u
build=${1:?the build folder}
output=$(mktemp)
trap 'rm -f "$output"' EXIT
failed=0
count=0
while IFS='|' read -r library wanted words; do
    code=0
    count=$((count + 1))
    "$build/pipeline" kernel check "$build/tests/own/$library.so" >"$output" 2>&1 || code=$?
    [ "$code" -eq "$wanted" ] && grep -qF -e "$words" "$output" && continue
    echo "$library: exit code $code, not $wanted, or not '$words':"
    cat "$output"
    failed=1
done <<'END'
new|0|ok         launcher  204 trials
launch-RIGHT|0|ok         cost      an element takes
launch-BLIND|0|not tried  twin      it has none
launch-LEGACY|1|has work done in another stream than the one it is given
launch-APART|1|has work done in another stream than the one it is given
launch-WAITS|1|makes a call that waits for work, takes memory
launch-ALLOCATES|1|makes a call that waits for work, takes memory
launch-NOTHING|1|launches nothing on the stream that it is given
launch-BEHIND|1|writes outside its output: 0 bytes behind it
launch-SHORT|1|1 block: does not write element 256
launch-UNEVEN|1|for element 999, where it itself, in pieces of 509 elements, gives
launch-BOASTER|1|as .bytes says, that were
launch-TOILER|1|as .flops says, that were
END
[ $failed -eq 0 ] && echo "$count libraries"
exit $failed
