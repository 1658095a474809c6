#!/bin/sh
# bootstrap.sh build|test|deep|lecture|lab|mpi - installs what is missing, from the distribution's packages,
# and prints their names first: `build` what the program needs, `test` and `deep` what `make test` and
# `make test-deep` need as well, `lecture` what `make lecture` needs, `lab` what the lab page needs, `mpi` what
# pipeline-mpi needs. BOOTSTRAP=no installs nothing:
# it fails with the line to run instead.
set -eu

build="gcc make pkg-config libjansson-dev"
test="$build g++ check clang-format-14 cppcheck python3-numpy libsqlite3-dev libopenblas0 fish mandoc zsh gnuplot-nox fonts-dejavu-core"
deep="$test libopenmpi-dev openmpi-bin clang libclang-rt-14-dev libomp-dev valgrind cmark-gfm weasyprint lld wasi-libc libclang-rt-14-dev-wasm32"
lab="$build clang lld wasi-libc libclang-rt-14-dev-wasm32"
mpi="$build libopenmpi-dev openmpi-bin"
lecture="$lab cmark-gfm weasyprint gnuplot-nox fonts-dejavu-core"
case "${1:-build}" in
build) wanted=$build ;;
lecture) wanted=$lecture ;;
lab) wanted=$lab ;;
mpi) wanted=$mpi ;;
test) wanted=$test ;;
deep) wanted=$deep ;;
*)
    echo "usage: $0 build|test|deep|lecture|lab|mpi" >&2
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
missing=
for package in $wanted; do
    case $package in
    lib* | python3-*) installed "$package" || missing="$missing $package" ;;
    gnuplot-nox) command -v gnuplot >/dev/null 2>&1 || missing="$missing gnuplot-nox" ;;
    check) installed check || missing="$missing check" ;;
    *) command -v "$package" >/dev/null 2>&1 || installed "$package" || missing="$missing $package" ;;
    esac
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
line="${as_root}apt-get install -y --no-install-recommends$missing"
if [ "${BOOTSTRAP:-yes}" = no ]; then
    [ -n "$missing" ] || exit 0
    echo "bootstrap: missing:$missing" >&2
    echo "bootstrap: to install: $line" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
if [ -n "$missing" ]; then
    echo "bootstrap: installing:$missing"
    sh -c "${as_root}apt-get update -qq"
    sh -c "$line -qq"
fi
for package in $browser; do
    apt-cache policy "$package" 2>/dev/null | grep -q 'Candidate: [0-9]' || continue
    echo "bootstrap: installing: $package"
    sh -c "${as_root}apt-get install -y --no-install-recommends $package -qq" ||
        echo "bootstrap: $package can't be installed" >&2
done
