#!/bin/sh
# `pipeline record -- pipeline ...` gives back its own plan: every op and every edge, over settings that
# are drawn by chance.
#
#     tests/gpu/record_roundtrip.sh PROGRAM [SETTINGS [SEED]]
#
# SETTINGS are how many (100). The last line sums up. Exits 0, 1 when a plan came back as another, 77
# where there is no device.
set -u
program=$(realpath "${1:?the program}")
settings=${2:-100}
seed=${3:-1}
here=$(realpath "$(dirname "$0")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

"$program" -q --dry-run --device=cuda -n 64k -t 2 >/dev/null 2>&1
[ $? -eq 77 ] && exit 77

# draw N: prints the options of the N-th settings.
draw() {
    awk -v seed="$seed" -v n="$1" '
        function one_of(list,    parts, count) {
            count = split(list, parts, " ")
            return parts[1 + int(rand() * count)]
        }
        BEGIN {
            srand(seed * 100003 + n)
            rand()
            tiles = 1 + int(rand() * 12)
            line = "--elements=" tiles * 65536 + (rand() < 0.5 ? int(rand() * 4096) : 0) " --tiles=" tiles
            line = line " --kernel=" one_of("scale wave scale,wave sum scale,sum")
            line = line " --streams=" one_of("1 2 3 4 5") " --order=" one_of("depth breadth")
            line = line " --layout=" one_of("tile stage") " --ways=" one_of("1 2 3")
            issue = one_of("streams streams streams graph")
            line = line " --issue=" issue
            line = line " --memory=" (issue == "graph" ? "pinned" : one_of("pinned pageable registered mapped"))
            if (rand() < 0.3)
                line = line " --callbacks"
            if (rand() < 0.4)
                line = line " --priorities=" one_of("0,-1 -2,0,-1 -1")
            if (issue != "graph" && rand() < 0.4)
                line = line " --mistake=" one_of("legacy-stream blocking-stream sync-in-loop alloc-in-loop " \
                    "pinned-alloc-in-loop memset-in-loop slow-callback missing-wait pin-in-run")
            print line
        }'
}

# compare OPTION...: records a run with these options, and compares. Prints "OPS EDGES" or a fault.
compare() {
    graph=0
    case "$*" in *--issue=graph*) graph=1 ;; esac
    rm -f rec.jsonl
    # A run of a plan with a race fails, and so may its recording's exit code: the plan counts.
    "$program" record -q -o rec.jsonl --start='profiled run' --stop='profiled run' -- \
        "$program" --device=cuda -q --gantt=none --profile --runs=1 --warmup=0 "$@" >run.out 2>run.err
    [ -f rec.jsonl ] || { echo "no recording: $(tail -n 1 run.err)"; return 1; }
    "$program" view -q --dry-run --format=json rec.jsonl >theirs.json 2>view.err ||
        { echo "the recording can't be read: $(tail -n 1 view.err)"; return 1; }
    awk -v graph=$graph -f "$here/record_roundtrip.awk" ours.json theirs.json
}

done=0 right=0 ops=0 edges=0 drawn=0
while [ $done -lt "$settings" ]; do
    drawn=$((drawn + 1))
    [ $drawn -gt $((20 * settings)) ] && break
    options=$(draw $drawn)
    # shellcheck disable=SC2086 # a word for each option
    "$program" --device=cuda -q --dry-run --format=json $options >ours.json 2>/dev/null || continue
    done=$((done + 1))
    # shellcheck disable=SC2086
    if said=$(compare $options); then
        right=$((right + 1))
        ops=$((ops + ${said% *}))
        edges=$((edges + ${said#* }))
    else
        echo "FAULT $options: $said"
    fi
done
echo "$right of $done settings, $ops ops, $edges edges"
[ $right -eq $done ] && [ $done -eq "$settings" ]
