#!/bin/sh
# gnuplot.sh - programs in gnuplot's place that fail in every way that a gnuplot can.
#
#     tests/hostile/gnuplot.sh KIND FOLDER
#     tests/hostile/gnuplot.sh list
#
# Makes FOLDER, and in it a `gnuplot` of that KIND, for a program that is run with PATH=FOLDER and no
# other folder, where a gnuplot would be found instead of one that can't be run. `list` prints the
# kinds, one to a line, each with what the program must do: `kept` (exit 1, no picture, the data in
# PICTURE.csv), `drawn` (the picture, at once), or `late` (as `kept`, after the minute that gnuplot
# has). A fake that lives on writes the number of its process to FOLDER/pid, and of one that it
# started to FOLDER/grandchild: none of them may be running when the program has ended, but for what
# `escaped` starts, which ends by itself in ten seconds.
set -eu

kinds="missing kept
not-executable kept
folder kept
no-program kept
no-interpreter kept
fails kept
fails-silently kept
complains-much kept
escapes kept
killed kept
nothing kept
half kept
other kept
floods-output kept
grandchild drawn
escaped drawn
hangs late
hangs-closed late
hangs-below late
stopped late
floods-errors late"

if [ "${1:-}" = list ]; then
    echo "$kinds"
    exit
fi
if [ $# -ne 2 ] || ! echo "$kinds" | grep -q "^$1 "; then
    echo "usage: $0 list | KIND FOLDER" >&2
    exit 2
fi
fake=$2/gnuplot
mkdir -p "$2"
rm -rf "$fake" "$2/pid" "$2/grandchild"

# A script that has the lines of standard input. It is called as: -d -e VARIABLES -c SCRIPT DATA
# ENDING SIZE ROWS.
script() {
    cat >"$fake" <<'END'
#!/bin/sh
PATH=/usr/local/bin:/usr/bin:/bin
folder=${0%/*}
echo $$ >"$folder/pid"
picture() {
    case $7 in
    .svg) printf '<svg></svg>\n' ;;
    .png) printf '\211PNG\r\n\032\n\0\0\0\0IEND\256B`\202' ;;
    .pdf) printf '%%PDF-1.5\n%%%%EOF\n' ;;
    esac
}
END
    cat >>"$fake"
    chmod 755 "$fake"
}

case $1 in
missing) ;;
not-executable) echo '#!/bin/sh' >"$fake" ;;
folder) mkdir "$fake" ;;
no-program)
    printf '\177ELF, or so it says\n' >"$fake"
    chmod 755 "$fake"
    ;;
no-interpreter)
    echo '#!/nonexistent/sh' >"$fake"
    chmod 755 "$fake"
    ;;
fails) printf '%s\n' 'printf "\nset x\n    ^\nline 1: unknown\n\n" >&2; exit 1' | script ;;
fails-silently) echo 'exit 3' | script ;;
complains-much) echo 'yes | head -n 5000000 >&2; echo "line 9: at last" >&2; exit 1' | script ;;
escapes) printf '%s\n' 'printf "line 1: \033[31m\033]0;x\007\302\233 \377 red\n" >&2; exit 1' | script ;;
killed) echo 'kill -9 $$' | script ;;
nothing) echo 'exit 0' | script ;;
half) echo 'picture "$@" | head -c 9' | script ;;
other) echo 'echo "Hello, world"' | script ;;
floods-output) echo 'exec yes' | script ;;
floods-errors) echo 'exec yes >&2' | script ;;
grandchild) echo 'sleep 1000 & echo $! >"$folder/grandchild"; picture "$@"' | script ;;
escaped) echo 'setsid sleep 10 & picture "$@"' | script ;;
hangs) echo 'exec sleep 1000' | script ;;
hangs-closed) echo 'exec sleep 1000 >&- 2>&-' | script ;;
hangs-below) echo 'trap "" TERM; sleep 1000 & echo $! >"$folder/grandchild"; wait' | script ;;
stopped) echo 'kill -STOP $$' | script ;;
esac
