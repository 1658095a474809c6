#!/bin/sh
# The programs of --emit on a real GPU: each of the settings in tests/emit/settings.txt is emitted,
# compiled, run, which has it check its own result, and timed beside the same settings run by PROGRAM.
# Times are printed, with how long the emitted program took as a share of PROGRAM's best time: no time
# is judged.
#
#     tests/gpu/emit.sh PROGRAM [ELEMENTS]
#
# All are compiled first, JOBS at once (one for each processor), and then run in turn. So are the
# libraries of tests/emit/own.cu, whose kernels some of them launch.
# ELEMENTS are about how many (64M); they are made a multiple of the tiles and of their rows, but of 30 and 31 tiles without rows.
# Fewer are taken where each row is copied by itself and where the check repeats a heavy kernel on one processor.
# Simulated devices of the settings stand for as many GPUs (--device=sim:h200*2: the first two). What asks for more
# than there are is skipped, and counted in the last line.
# SETTINGS is another file of settings. With RECORD=yes each program is recorded, too, by `pipeline record`,
# and its last run compared with the plan: "back OPS EDGES" is behind the settings. NVCC is the compiler (nvcc, or that of /usr/local/cuda). The last line sums up. Exits 0, 1 when a
# program was not written, did not compile or was wrong, 77 where there is no device or no compiler.
set -uf

# elements WANTED OPTIONS...: prints how many elements to take: whole rows, or columns, in each tile.
elements() {
    echo "$*" | awk '{
        wanted = $1
        row = 1
        for (i = 2; i <= NF; i++) {
            if ($i == "-t")
                tiles = $(i + 1)
            if ($i ~ /^--(columns|tile-width|rows)=/)
                row = substr($i, index($i, "=") + 1)
            whole += $i ~ /^--columns=/
            if ($i == "--copy=rows")
                wanted /= 64
            if ($i ~ /^--intensity=/ && substr($i, 13) >= 50)
                wanted /= 16
        }
        wanted = int(wanted)
        print !whole && (tiles == 30 || tiles == 31) ? wanted + 3 : int(wanted / tiles / row) * tiles * row
    }'
}

# asked OPTIONS...: prints how many GPUs the settings ask for.
asked() {
    case "$*" in
    *--device=sim:*\**) echo "$*" | sed 's/.*--device=[^ ]*\*\([0-9]*\).*/\1/' ;;
    *) echo 1 ;;
    esac
}

# first COUNT: prints the option that names as many GPUs, the first ones.
first() {
    [ "$1" -eq 1 ] && echo --device=cuda || echo "--device=cuda:$(seq -s , 0 $(($1 - 1)))"
}

# on_gpus OPTIONS...: prints the options, with GPUs in the place of simulated devices.
on_gpus() {
    echo "$(first "$(asked "$@")") $*" | sed 's/ --device=sim:[^ ]*//'
}

# Writes and compiles the program of line $2 of the settings, here; what is said is left beside it.
if [ "${1:-}" = --make ]; then
    options=$(sed -n "$2p" settings.txt)
    [ "$(asked "$options")" -le "$gpus" ] || exit 0
    library=-ldl
    case "$options" in *dgemm*) library=-lcublas ;; esac
    threads=
    case "$options" in *--pack*) threads=,-fopenmp ;; esac # the cores share in packing
    # shellcheck disable=SC2046,SC2086 # a word for each option
    "$program" -q $(on_gpus "$options") -n "$(elements "$wanted" $options)" --emit="$2.cu" >"$2.said" 2>&1 </dev/null &&
        "$compiler" -O3 -arch=native -Xcompiler "-Wall,-Wextra$threads" -o "tiles-$2" "$2.cu" "$library" >>"$2.said" 2>&1
    exit 0
fi

# Compiles the library $2.so, here.
if [ "${1:-}" = --library ]; then
    "$compiler" -O3 -shared -Xcompiler -fPIC -arch=native -I "$root" -DOWN_"$2" -o "$2.so" "$root/tests/emit/own.cu"
    exit
fi

program=$(realpath "${1:?the program}")
wanted=${2:-67108864}
compiler=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$(realpath "$(dirname "$script")/../..")
settings=$(realpath "${SETTINGS:-$root/tests/emit/settings.txt}")
export program wanted compiler root
cp "$settings" "$folder/settings.txt"
cp "$root/kernels/own_kernel.h" "$folder"
cd "$folder" || exit 1

[ -x "$compiler" ] || exit 77
"$program" -q --dry-run --device=cuda -n 64k -t 2 >/dev/null 2>&1
[ $? -eq 77 ] && exit 77
gpus=1
while "$program" -q --dry-run "$(first $((gpus + 1)))" -n 64k -t 8 >/dev/null 2>&1; do
    gpus=$((gpus + 1))
done
export gpus

grep -o '\./[a-z0-9]*\.so' settings.txt | sort -u | sed 's,\./,,; s,\.so,,' | xargs -r -P "${JOBS:-$(nproc)}" -n 1 sh "$script" --library || exit 1
seq "$(wc -l <settings.txt)" | PIPELINE_NO_RATES=1 xargs -P "${JOBS:-$(nproc)}" -n 1 sh "$script" --make

# one LINE OPTIONS...: prints a line about the settings; fails unless all went well.
one() {
    line=$1
    shift
    if ! [ -x "tiles-$line" ] || ! "./tiles-$line" >said; then
        cat "$line.said" said
        return 1
    fi
    # shellcheck disable=SC2046 # a word for each option
    "$program" -q $(on_gpus "$@") -n "$(elements "$wanted" "$@")" --format=json >own.json || return 1
    own=$(grep -o '"time_min_ms": *[0-9.e+-]*' own.json | head -n 1 | sed 's/.*: *//')
    awk -v own="$own" 'match($0, /[0-9.]+ ms/) { # the first time is that of the streams
        emitted = substr($0, RSTART, RLENGTH - 3)
        printf "%10.3f %10.3f %6.2f ", emitted, own, emitted / own
    }
    END { exit !emitted }' said
}

# Takes the last run out of the plan of a recording: what lies between calls that wait for the device.
# shellcheck disable=SC2016 # awk's own
last_run='/^ *{"kind":/ { print }
    !/^ *{"id":/ { next }
    /"name":"sync device"/ { if (works) kept = run; run = ""; works = 0; next }
    { run = run $0 "\n"; works += /"kind":"kernel"/ }
    END { printf "%s", works ? run : kept }'

# back LINE OPTIONS...: records the program, and prints how much of the plan came back; fails unless all did.
back() {
    graph=0
    case "$*" in
    *--device=*) return 0 ;; # of several devices `pipeline view` looks at one
    *--issue=graph*) graph=1 ;;
    *dgemm*) return 0 ;; # cuBLAS launches as many kernels for a product as it likes
    esac
    line=$1
    shift
    "$program" record -q -o "$line.jsonl" "./tiles-$line" >said 2>&1 || { cat said; return 1; }
    "$program" -q --dry-run --format=json --device=cuda -n "$(elements "$wanted" "$@")" "$@" >ours.json || return 1
    "$program" view -q --dry-run --format=json "$line.jsonl" | awk "$last_run" >theirs.json
    sed -i '/"kind":"pack"/d' ours.json # nobody records what the CPU copies
    printf 'back '
    awk -v graph=$graph -f "$root/tests/gpu/record_roundtrip.awk" ours.json theirs.json
}

total=0
failed=0
skipped=0
ratios=
printf '%10s %10s %6s  %s\n' "emitted ms" "own ms" ratio settings
while read -r options; do
    total=$((total + 1))
    : >said
    came=
    if [ "$(asked "$options")" -gt "$gpus" ]; then
        skipped=$((skipped + 1))
        echo "skipped, as there are fewer GPUs ($gpus): $options"
        continue
    fi
    # shellcheck disable=SC2086 # a word for each option
    if row=$(PIPELINE_NO_RATES=1 one $total $options </dev/null 2>&1) &&
        came=$([ -z "${RECORD:-}" ] || PIPELINE_NO_RATES=1 back $total $options </dev/null 2>&1); then
        echo "$row $options $came"
        ratios="$ratios $(echo "$row" | awk '{ print $3 }')"
    else
        failed=$((failed + 1))
        echo "FAILED: $options"
        echo "$row $came"
    fi
done <settings.txt
# shellcheck disable=SC2086 # a word for each ratio
middle=$(printf '%s\n' $ratios | sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }')
echo "$total settings, $failed failed, $skipped skipped with $gpus GPUs; median ratio $middle"
[ "$failed" -eq 0 ]
