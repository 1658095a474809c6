#!/bin/sh
# install.sh STAGE PREFIX: looks at what `make install DESTDIR=STAGE PREFIX=PREFIX` has made: every
# file is there and no other, the program runs, man shows its page, the shells complete.
set -eu
stage=$1
prefix=$2
root=$stage$prefix
source=$(cd "$(dirname "$0")/.." && pwd)

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

# A tool that is not there is said to be, and its part left out.
have() {
    command -v "$1" >/dev/null 2>&1 && return
    echo "install.sh: skipped: there is no $1 here" >&2
    return 1
}

expected() {
    echo bin/pipeline
    [ ! -e "$root/bin/pipeline-mpi" ] || echo bin/pipeline-mpi # where there was mpicc
    echo include/pipeline.h
    echo include/pipeline/kernel.h
    echo lib/libpipeline.a
    for built in libpipeline-record.so libpipeline-cpu.a; do
        [ ! -e "$root/lib/pipeline/$built" ] || echo "lib/pipeline/$built"
    done
    [ ! -e "$root/lib/pipeline/libpipeline-cpu.a" ] ||
        (cd "$source/src/cpu" && find . -path "./include/*" -type f | sed "s/^..//") | sed 's,^include,lib/pipeline/cuda,'
    echo share/bash-completion/completions/pipeline
    echo share/fish/vendor_completions.d/pipeline.fish
    echo share/man/man1/pipeline.1
    echo share/zsh/site-functions/_pipeline
    (cd "$source" && find configs -name '*.ini' && find plots -type f) |
        sed 's,^,share/pipeline/,'
}

wanted=$(expected | sort)
found=$(cd "$root" && find . -type f | sed 's,^\./,,' | sort)
[ "$wanted" = "$found" ] || fail "wanted:
$wanted
found:
$found"
[ "$(find "$stage" -type f | wc -l)" = "$(echo "$found" | wc -l)" ] || fail "files beside $root"
find "$root" -type f ! -name pipeline ! -name pipeline-mpi -perm /111 | grep . && fail "executable, and should not be"
grep -rlE --exclude-dir=plots "@[a-z-]+@|$stage" "$root/share" && fail "a place was left, or this folder is in a file"

version=$("$root/bin/pipeline" --version)
[ "${version#pipeline }" != "$version" ] || fail "version: $version"
"$root/bin/pipeline" --device=sim:h200 --no-data --dry-run \
    "$root/share/pipeline/configs/ways.ini" >/dev/null

if [ -e "$root/bin/pipeline-mpi" ]; then
    [ "$("$root/bin/pipeline-mpi" --version)" = "$version" ] || fail "pipeline-mpi --version"
fi

# The recorder is found from there, or said to be missing; either way nothing is run here.
set +e
recorded=$("$root/bin/pipeline" record ./no-such-program 2>&1)
code=$?
set -e
case $code:$recorded in
127:*no-such-program*) [ -e "$root/lib/pipeline/libpipeline-record.so" ] || fail "record: $recorded" ;;
2:*libpipeline-record.so*) [ ! -e "$root/lib/pipeline/libpipeline-record.so" ] || fail "record: $recorded" ;;
*) fail "record: exit code $code: $recorded" ;;
esac

# Each lesson is listed with a command that runs it, wherever one stands.
lessons=$(cd / && "$root/bin/pipeline" list lessons | sed -n 's/^ *pipeline lesson //p')
[ "$(echo "$lessons" | wc -l)" = "$(ls "$source"/configs/lessons/*.ini | wc -l)" ] || fail "lessons: $lessons"
for lesson in $lessons; do
    (cd / && "$root/bin/pipeline" lesson "$lesson" --dry-run) >/dev/null 2>&1 || fail "lesson $lesson does not run"
done

page=$root/share/man/man1/pipeline.1
grep -qF "$prefix/share/pipeline/configs/" "$page" || fail "the page does not know $prefix"
if have mandoc; then
    # Outside of a repository, and without SOURCE_DATE_EPOCH, the page has no date.
    mandoc -T lint -W warning "$page" | grep -v "missing date" && fail "mandoc complains"
fi
if have man; then
    MANPATH=$root/share/man man pipeline 2>/dev/null | grep -q "how copies and kernels overlap" ||
        fail "man does not find its page"
fi

ask() {
    echo "pipeline --or" | "$@" | grep -q -x -e '--order=\{0,1\}' || fail "no completion by $*"
}
if have bash; then
    ask bash --norc --noprofile "$source/tests/complete/ask.bash" \
        "$root/share/bash-completion/completions/pipeline"
fi
if have zsh; then
    ask zsh -f "$source/tests/complete/ask.zsh" "$root/share/zsh/site-functions"
fi
if have fish; then
    home=$(mktemp -d)
    trap 'rm -rf "$home"' EXIT
    ask env HOME="$home" fish --no-config "$source/tests/complete/ask.fish" \
        "$root/share/fish/vendor_completions.d/pipeline.fish"
fi
