#!/bin/sh
# exercises.sh BUILD - `pipeline exercise`: each starting program does not pass yet, and for what its head
# says; each solution passes. In the quick tier those of some. 77: there is no C++ compiler.
set -u
build=$(realpath "$1")
[ -f "$build/libpipeline-cpu.a" ] || { echo "exercises.sh: skipped: there was no C++ compiler" >&2; exit 77; }
texts=$(realpath "$(dirname "$0")/../../programs/exercises")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tmp"
export TMPDIR="$work/tmp"
cd "$work" || exit 1
failed=0

fail() {
    echo "exercises.sh: $*" >&2
    head -n 8 out err | sed 's/^/    /' >&2
    failed=1
}

# run CODE WORDS... runs the command, which ends with that exit code and leaves nothing.
run() {
    code=$1
    shift
    timeout -s INT 300 "$build/pipeline" exercise "$@" >out 2>err
    got=$?
    [ "$got" = "$code" ] || fail "$*: exit code $got, not $code"
    [ -z "$(ls "$TMPDIR")" ] || fail "$*: left behind: $(ls "$TMPDIR")"
}
says() {
    tr -s ' \n' '  ' <"$1" | grep -qF -- "$2" || fail "$1 lacks '$2'"
}

# What there is, and what is written.
run 0
[ "$(wc -l <out)" = "$(find "$texts" -name '*.solution.cu' | wc -l)" ] || fail "the list has another length"
run 0 4
cmp -s out "$texts/04-pinned.cu" || fail "exercise 4 is another program"
run 0 pinned --answer -o mine.cu
cmp -s mine.cu "$texts/04-pinned.solution.cu" || fail "the answer to 4 is another program"
run 2 4 -o mine.cu
says err "is there already"
run 2 --answer
says err "which one?"
grep -Ev '^(;.*|\[.*\]|(device|time|limit_ms|reached|least\..*|most\..*|recorded|unrecorded|source|hint|shown|shown\..*) = .*|)$' \
    "$texts/exercises.ini" >out
[ $? -eq 1 ] || fail "the table has conditions that are none"

# What can't be graded, and what never passes.
run 2 14
run 2 check 4
run 2 check 4 nowhere.cu
sed 's/enum { STREAMS = 4 };/enum { STREAMS = four };/' mine.cu >bad.cu
run 2 check 4 bad.cu
says err "four"
sed 's/    puts("right");//' mine.cu >bad.cu
run 1 check 4 bad.cu
says out "Change your part alone"

case ${PIPELINE_TESTS:-quick} in
quick) these="03 09 12" ;;
*) these=$(cd "$texts" && ls ./*.solution.cu | sed 's,^\./\(..\).*,\1,') ;;
esac
for number in $these; do
    for answer in "$texts/$number"-*.solution.cu; do
        start=${answer%.solution.cu}.cu
        run 1 check "$number" "$start"
        says out "right, also in"
        says out "hint: "
        # A lecturer's remark, Windows' line ends and a lost newline at the end do no harm.
        { echo "// handed in on time" && printf '%s' "$(cat "$answer")" | sed 's/$/\r/'; } >mine.cu
        run 0 check "$number" mine.cu --format=json
        says out '"passed": true, "right": true, "orders": 4,'
    done
done

run 2 check 5 mine.cu --format=csv
says err "a grade is text or json"

# An order that is missing: the kernel does not wait for the copy out that reads its buffer.
if [ "${PIPELINE_TESTS:-quick}" != quick ]; then
    sed '/cudaStreamWaitEvent(kernel_stream, left/d' "$texts/05-events.solution.cu" >bad.cu
    run 1 check 5 bad.cu --format=json
    says out '"right": false, "orders": null'
    says out "an order is missing"
fi
exit $failed
