#!/bin/sh
# fresh.sh FOLDER SUITE... - tries README's commands on fresh machines: in FOLDER it makes a Debian of each suite
# (bookworm, trixie), which stays there, and in a copy of it runs `make demo`, `make lab`, `make test` and `make install` in a
# clone of this repository's last commit, as one who has git, make and gcc alone. It prints how long each took.
# As root, with debootstrap; MIRROR is another source of packages.
set -u
[ $# -ge 2 ] || {
    echo "usage: $0 FOLDER SUITE..." >&2
    exit 2
}
[ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null || {
    echo "fresh.sh: it takes root and debootstrap" >&2
    exit 77
}
mkdir -p "$1" && folder=$(cd "$1" && pwd) || exit 1
shift
cd "$(dirname "$0")/.." || exit 1
failed=0

# inside COMMAND runs it in the copy, in the clone, with a /proc and a /dev of its own.
inside() {
    unshare --mount --pid --fork sh -c '
        mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --make-rslave "$0/dev" &&
            exec chroot "$0" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
                DEBIAN_FRONTEND=noninteractive TERM=dumb sh -c "cd /root/pipeline && $1"' "$copy" "$1" </dev/null
}

# try SUITE COMMAND
try() {
    start=$(date +%s)
    log=$folder/$1-$(echo "$2" | tr -c 'a-z\n' -).log
    if inside "$2" >"$log" 2>&1; then how=well; else how=badly; fi
    echo "$1: $2: ended $how after $(($(date +%s) - start)) s"
    [ $how = well ] || {
        failed=1
        tail -n 30 "$log"
    }
}

for suite; do
    copy=$folder/$suite-copy
    [ -x "$folder/$suite/bin/sh" ] || debootstrap --variant=minbase "$suite" "$folder/$suite" ${MIRROR:-} \
        >"$folder/$suite.log" 2>&1 || exit 1
    rm -rf --one-file-system "$copy"
    cp -a "$folder/$suite" "$copy" && cp /etc/resolv.conf "$copy/etc/" && git clone -q . "$copy/root/pipeline" || exit 1
    try "$suite" "apt-get update -qq && apt-get install -y -qq --no-install-recommends git make gcc"
    try "$suite" "make demo"
    try "$suite" "make lab"
    try "$suite" "make test"
    try "$suite" "make install && cd / && pipeline lesson 8 && pipeline -q lab -o lab.html"
done
exit $failed
