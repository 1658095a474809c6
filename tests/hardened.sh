#!/bin/sh
# hardened.sh PROGRAM FLAG... - looks in a built program for what each flag of the Makefile's HARDENING
# asks for, by readelf. Without flags there is nothing to look for.
set -u
program=$1
shift
command -v readelf >/dev/null 2>&1 || { echo "hardened.sh: skipped: there is no readelf here" >&2; exit 0; }
[ $# -gt 0 ] || echo "hardened.sh: skipped: HARDENING is empty, as with sanitizers or without optimisation" >&2
failed=0

# wants FLAG READELF-OPTIONS PATTERN: readelf prints a line of that pattern.
wants() {
    # shellcheck disable=SC2086 # several options
    readelf $2 "$program" 2>/dev/null | grep -qE "$3" && return
    echo "hardened.sh: $program was built with $1, and has no $3" >&2
    failed=1
}

for flag; do
    case $flag in
    -D_FORTIFY_SOURCE=*) wants "$flag" "-sW --dyn-syms" ' __(snprintf|fprintf|memcpy)_chk' ;;
    -fstack-protector-strong) wants "$flag" "-sW --dyn-syms" ' __stack_chk_(fail|guard)' ;;
    # The loader can ask for branches that land where they may only of a program all of whose parts
    # say so; those of NVIDIA's libraries do not, so it is the instruction that counts.
    -fcf-protection) objdump --disassemble=main "$program" 2>/dev/null | grep -A1 '<main>:' | grep -q endbr ||
        { echo "hardened.sh: main() does not begin with endbr" >&2; failed=1; } ;;
    -Wl,-z,relro) wants "$flag" -lW ' GNU_RELRO ' ;;
    -Wl,-z,now) wants "$flag" -dW 'BIND_NOW|FLAGS_1.* NOW' ;;
    -pie) wants "$flag" -hW 'Type: +DYN' && wants "$flag" -dW 'FLAGS_1.* PIE' ;;
    -fPIE | -U_FORTIFY_SOURCE) ;;
    *) echo "hardened.sh: nothing is known of $flag" >&2; failed=1 ;;
    esac
done
exit $failed
