#!/bin/sh
# bootstrap.sh build|test|deep|lecture|lecture-pdf|lab|mpi - installs what is missing, from the distribution's
# packages, and prints their names and their size first: `build` what the program needs, `test` and `deep` what
# `make test` and `make test-deep` need as well, `lecture` what `make lecture` needs, `lecture-pdf` what PDFs of it
# need as well, `lab` what the lab page needs, `mpi` what pipeline-mpi needs. BOOTSTRAP=no installs nothing:
# it fails with the line to run instead. What the distribution does not have is named, and left out.
set -eu

# Of names with | between them the first one is taken that the distribution has.
build="gcc libc6-dev make pkg-config libjansson-dev"
wasm="clang lld wasi-libc libclang-rt-14-dev-wasm32|libclang-rt-dev-wasm32"
test="$build g++ check clang-format-14|clang-format cppcheck python3-numpy libsqlite3-dev zlib1g-dev libopenblas0 fish mandoc zsh gnuplot-nox fonts-dejavu-core"
deep="$test $wasm libopenmpi-dev openmpi-bin libclang-rt-14-dev|libclang-rt-dev libomp-dev valgrind cmark-gfm weasyprint"
lab="$build $wasm"
mpi="$build libopenmpi-dev openmpi-bin"
lecture="$build cmark-gfm gnuplot-nox fonts-dejavu-core"
case "${1:-build}" in
build) wanted=$build ;;
lecture) wanted=$lecture ;;
lecture-pdf) wanted="$lecture weasyprint" ;;
lab) wanted=$lab ;;
mpi) wanted=$mpi ;;
test) wanted=$test ;;
deep) wanted=$deep ;;
*)
    echo "usage: $0 build|test|deep|lecture|lecture-pdf|lab|mpi" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "bootstrap: not a Debian-like system: these must be there: $wanted" >&2
    exit 0
fi

installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# A tool that is there by other means (a compiler built by hand) counts as well.
is_there() {
    case $1 in
    lib* | python3-* | fonts-* | check) installed "$1" ;;
    gnuplot-nox) command -v gnuplot >/dev/null 2>&1 ;;
    *) command -v "$1" >/dev/null 2>&1 || installed "$1" ;;
    esac
}

# any COMMAND NAMES prints the first of the names, which are apart by |, that COMMAND holds for.
any() {
    for name in $(echo "$2" | tr '|' ' '); do
        "$1" "$name" && echo "$name" && return
    done
    return 1
}

can_be_had() {
    apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [0-9]'
}

missing=
for names in $wanted; do
    any is_there "$names" >/dev/null || missing="$missing $names"
done

# The tests of the HTML page are skipped where these packages can't be had.
browser=
if [ "${1:-build}" = deep ]; then
    command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 ||
        command -v google-chrome >/dev/null 2>&1 || browser="$browser chromium"
    command -v node >/dev/null 2>&1 || browser="$browser nodejs"
    command -v npm >/dev/null 2>&1 || browser="$browser npm"
fi
[ -n "$missing$browser" ] || exit 0

as_root=
[ "$(id -u)" = 0 ] || as_root="sudo "
# Without a network what a browser needs is left out, and what else is missing can't be had.
[ "${BOOTSTRAP:-yes}" = no ] || sh -c "${as_root}apt-get update -qq" || [ -z "$missing" ]
# Without a list of packages, none has been refused.
packages=
for names in $missing; do
    if name=$(any can_be_had "$names"); then
        packages="$packages $name"
    elif can_be_had gcc; then
        echo "bootstrap: this distribution does not have $names" >&2
    else
        packages="$packages ${names%%|*}"
    fi
done
line="${as_root}apt-get install -y --no-install-recommends$packages"
if [ "${BOOTSTRAP:-yes}" = no ]; then
    [ -n "$packages" ] || exit 0
    echo "bootstrap: missing:$packages" >&2
    echo "bootstrap: to install: $line" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
if [ -n "$packages" ]; then
    echo "bootstrap: installing:$packages"
    # shellcheck disable=SC2086 # a word for each package
    LC_ALL=C apt-get install --no-install-recommends --print-uris $packages 2>/dev/null | awk '
        function mb(number, unit) { return number * (unit ~ /^G/ ? 1000 : unit ~ /^M/ ? 1 : unit ~ /^k/ ? 0.001 : 0) }
        /^Need to get / { fetch = mb($4, $5) }
        /^After this operation, / {
            printf "bootstrap: %.0f MB to fetch, %.0f MB on the disk: about %.0f s at 10 MB a second\n", fetch, \
                mb($4, $5), 1 + (fetch + mb($4, $5)) / 10
        }'
    sh -c "$line -qq"
fi
for package in $browser; do
    can_be_had "$package" || continue
    echo "bootstrap: installing: $package"
    sh -c "${as_root}apt-get install -y --no-install-recommends $package -qq" ||
        echo "bootstrap: $package can't be installed" >&2
done
