#!/bin/sh
# self.sh - tests check.sh: a small house that is in order passes, and each kind of fault that is
# planted in it is found, in one line.
set -u
check=$(cd "$(dirname "$0")" && pwd)/check.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

build() {
    for source in src/*/*.c kernels/*.c; do
        mkdir -p "objects/${source%/*}"
        ${CC:-gcc} -Isrc -I. -c -o "objects/${source%.c}.o" "$source" || exit 1
    done
}

# A house of two rooms: `low` uses `top`, which is pure.
house() {
    rm -rf src kernels bench docs objects
    mkdir -p src/top src/low kernels docs
    printf '%s\n' '# a comment' 'top | pure | src/top/ | words' 'kernels | pure | kernels/ |' \
        'low | | src/low/ | words' >docs/rooms.txt
    printf 'int top(int n);\n' >src/top/top.h
    printf '#include "top/top.h"\n#include <stdlib.h>\nstatic const char *const words[] = {"a"};\nint top(int n)\n{\n    return abs(n) + words[n][0];\n}\n' >src/top/top.c
    printf '#include "top/top.h"\nint low(void);\nint changes;\nint low(void)\n{\n    return top(++changes);\n}\n' >src/low/low.c
    printf 'int low(void);\n' >src/low/low.h
    printf 'int idle(void);\nint idle(void)\n{\n    return 0;\n}\n' >kernels/idle.c
}

# found WORDS: a line of the findings has them.
found() {
    build
    if sh "$check" objects >findings; then
        echo "rooms: FAILED: nothing found of: $1"
        failed=1
    elif ! grep -qF "$1" findings; then
        echo "rooms: FAILED: no line says: $1"
        cat findings
        failed=1
    fi
}

house
build
sh "$check" objects >findings || {
    echo "rooms: FAILED: findings in a house that is in order"
    cat findings
    failed=1
}

house
echo '#include "low/low.h"' >>src/top/top.h
found 'src/top/top.h includes "low/low.h": room low is below room top'

house
printf 'int low(void);\nint peek(void);\nint peek(void)\n{\n    return low();\n}\n' >src/top/peek.c
found 'src/top/peek.c needs low of src/low/low.c: room low is below room top'

house
printf 'int a(void);\nint b(void);\nint a(void)\n{\n    return b();\n}\n' >src/low/a.c
printf 'int a(void);\nint b(void);\nint b(void)\n{\n    return a();\n}\n' >src/low/b.c
found 'circle: src/low/a needs b; src/low/b needs a'

house
printf 'int b(void);\nstatic inline int a_half(int n)\n{\n    return n / 2;\n}\n' >src/low/a.h
printf '#include "low/a.h"\nint a(void);\nint a(void)\n{\n    return b();\n}\n' >src/low/a.c
printf '#include "low/a.h"\nint b(void)\n{\n    return a_half(4); /* not b_half(4) */\n}\n' >src/low/b.c
found 'circle: src/low/a needs b; src/low/b needs a_half'

house
echo '#include "low/other.h"' >>src/low/low.h
echo '#include "low/low.h"' >>src/low/other.h
found 'circle: src/low/low.h includes low/other.h; src/low/other.h includes low/low.h'

house
echo 'int part(void);' >src/top/parts.h
echo '#include "top/parts.h"' >>src/low/low.c
found 'src/low/low.c includes "top/parts.h", which is private to '

house
printf '#include <stdio.h>\nint loud(void);\nint loud(void)\n{\n    return puts("loud");\n}\n' >src/top/loud.c
found 'src/top/loud.c needs puts, which no pure room'

house
printf 'int count(void);\nint count(void)\n{\n    static int n;\n    return ++n;\n}\n' >src/top/count.c
found 'src/top/count.c has data that can change: n.'

house
printf 'const char *first = "a";\n' >kernels/first.c
found 'kernels/first.c has data that can change: first'

house
mkdir src/new
printf 'int new(void);\n' >src/new/new.h
printf '#include "new/new.h"\nint new(void)\n{\n    return 0;\n}\n' >src/new/new.c
found 'is in no room of docs/rooms.txt'

[ "$failed" = 0 ] && echo "rooms: planted faults are found"
exit "$failed"
