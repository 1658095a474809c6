#!/bin/sh
# make.sh - tests of the Makefile itself, on copies of the sources: flags that change, -n, -j8, sources
# that can't be written, two makes at once, folders with a space in their names, clean.
set -u
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
# Nothing of the make that may have called this one goes on to those below.
unset MAKEFLAGS MAKELEVEL MFLAGS O CC CXX CFLAGS
# The lab page takes a minute to compile, and no test here needs it.
export LAB=
passed=0
failed=0

copy() {
    mkdir -p "$1" && tar -c --exclude=./build --exclude=./out --exclude=./.git --exclude=node_modules . |
        tar -x -C "$1"
}

# Each file with its size and time, so that what make writes shows.
listing() {
    (cd "$1" && find . -printf '%p %s %T@\n' | sort)
}

# Builds that take little time: no optimisation, nothing that is optional.
quick_make() {
    make --no-print-directory NVCC= NVTX= CFLAGS=-O0 "$@"
}

# ok WORDS COMMAND... counts a test, which passes if the command does.
ok() {
    words=$1
    shift
    if "$@" >"$work/said" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "make.sh: FAILED: $words"
        sed 's/^/    /' "$work/said" | head -n 20
    fi
}

by_clang() {
    grep -aq 'clang version' "$1"
}

not() {
    ! "$@"
}

changes_nothing() {
    listing . >"$work/before"
    "$@" >"$work/output" 2>&1 || { cat "$work/output"; return 1; }
    listing . | diff "$work/before" -
}

copy "$work/sources"
cd "$work/sources" || exit 1

ok "make -n changes nothing before a build" changes_nothing quick_make -n all check-programs pages
ok "-n of every goal that a person types changes nothing" \
    changes_nothing quick_make -n test test-deep install clean demo lessons fuzz help

# flags WORD... prints the first call of the compiler that make with those words would make.
flags() {
    make -n NVCC= "$@" all | grep -m 1 ' -c -o '
}
flags >"$work/hard"
ok "the program is hardened" grep -e '-D_FORTIFY_SOURCE=3.*-fstack-protector-strong' "$work/hard"
flags HARDENING= >"$work/soft"
ok "HARDENING= leaves that out" not grep -e -fstack-protector -e _FORTIFY_SOURCE "$work/soft"
flags CFLAGS=-O0 >"$work/slow"
flags ASAN=1 >"$work/asan"
ok "calls are not checked without optimisation" not grep _FORTIFY_SOURCE "$work/slow"
ok "nor beside sanitizers" not grep _FORTIFY_SOURCE "$work/asan"

# Two makes in one folder, and sources that nobody can write.
built=$work/both
chmod -R a-w .
both() {
    quick_make O="$built" -j8 all &
    first=$!
    quick_make O="$built" "$built/check" pages || return 1
    wait "$first"
}
ok "two makes at once, with sources that can't be written" changes_nothing both
ok "-j8 is no cause for warnings" not grep -i '^make.*warning' "$work/output"
ok "the program of both runs" "$built/pipeline" --version
ok "no half file is left" sh -c "! find '$built' -regex '.*[.][0-9]+\\([.]d\\)?' | grep -v '/man1/'"
ok "make links what one of them has linked before the other compiled" quick_make O="$built"
ok "a make after that compiles nothing" sh -c "! make NVCC= NVTX= CFLAGS=-O0 O='$built' | grep -E 'CC|LINK'"
ok "tests write nothing into the sources" \
    changes_nothing tests/run-suites.sh "$built" status units pages cli output_file
ok "-n with another compiler changes nothing" changes_nothing quick_make -n O="$built" CC=clang help all

# One small program is enough to go from one compiler to another and back.
small=$built/no-memory
ok "gcc builds it" quick_make O="$built" "$small"
ok "gcc has built it" not by_clang "$small"
if command -v clang >/dev/null 2>&1; then
    ok "make CC=clang builds" quick_make O="$built" CC=clang "$small"
    ok "clang has built it" by_clang "$small"
    ok "back with gcc, nothing is compiled" \
        sh -c "! make NVCC= NVTX= CFLAGS=-O0 O='$built' '$small' | grep -E 'CC|LINK'"
    ok "gcc's program is back" not by_clang "$small"
fi
touch src/core/units.h
ok "a header that changed is seen" \
    sh -c "make -n NVCC= NVTX= CFLAGS=-O0 O='$built' | grep 'CC.*src/core/units.c'"

touch "$built/mine"
ok "make clean" make O="$built" clean
ok "clean leaves what it did not make" test "$(ls "$built")" = mine
rm "$built/mine"
ok "clean of nothing" make O="$built" clean
ok "clean takes the folder" not test -e "$built"
ok "a folder that can't be made is one clear line" \
    sh -c "make NVCC= O=/proc/none 2>&1 | grep 'cannot create directory'"

ok "an empty O is refused" not make -n NVCC= O= clean
ok "the sources' own folders are refused" not make -n NVCC= O=docs clean
mkdir -p "$work/others/share"
echo mine > "$work/others/share/mine"
make -s NVCC= O="$work/others" clean
ok "clean takes nothing of others" test -s "$work/others/share/mine"

spaced=$work/a\ space
mkdir "$spaced"
cp -r Makefile make "$spaced"
ok "sources below a space are refused" not make -C "$spaced"
cp "$work/said" "$work/refusal"
ok "in one clear line" grep 'a folder with a space in its name' "$work/refusal"
ok "-n of a build below a space makes nothing" quick_make -n O="$spaced/my build" all
ok "it is not there" not test -e "$spaced/my build"
ok "O with a space builds" quick_make O="$spaced/my build" all pages
ok "the program there runs" "$spaced/my build/pipeline" --version
ok "a second make compiles nothing there" \
    sh -c "! make NVCC= NVTX= CFLAGS=-O0 O='$spaced/my build' all pages | grep -E 'CC|LINK'"
ok "a program is installed below spaces" \
    quick_make O="$spaced/my build" DESTDIR="$spaced/its stage" PREFIX="/a prefix" install
ok "and runs there" "$spaced/its stage/a prefix/bin/pipeline" --version
ok "and goes again" \
    quick_make O="$spaced/my build" DESTDIR="$spaced/its stage" PREFIX="/a prefix" uninstall
ok "with all its files" test -z "$(find "$spaced/its stage" -type f)"
ok "clean of a build below a space" make NVCC= O="$spaced/my build" clean
ok "takes what was made" test -z "$(find "$spaced" -name 'obj-*' -o -name pipeline -type f)"

echo "make.sh: $passed passed, $failed failed"
[ "$failed" = 0 ]
