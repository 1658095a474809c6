#!/bin/sh
# check.sh OBJECTS - looks whether the sources in this folder keep to docs/rooms.txt: by their
# includes, and by the symbols that the objects in the folder OBJECTS define and need. Each finding is
# one line; with one or more it fails.
#
# Files must not go round in circles: headers that include each other, directly or round about, nor
# units, a source with the header of its name, that call each other: by symbols, and by the inline
# functions of headers, which no object shows. What src/cpu defines of CUDA is CUDA's own to all others.
set -eu
objects=$1
tests=$(cd "$(dirname "$0")" && pwd)
{
    sed -n '/^#/d; s/ *| */|/gp' docs/rooms.txt
    find src kernels bench docs/manual -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def' \) \
        2>/dev/null -exec grep -H '^#include "' {} + | sed 's/:#include "\([^"]*\)".*/|\1/; s/^/include|/'
    find src kernels bench docs/manual -type f 2>/dev/null | sed 's/^/file|/'
    find src kernels bench docs/manual -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) 2>/dev/null |
        sort | xargs awk -f "$tests/calls.awk"
    cd "$objects"
    find src kernels bench docs generated record -name '*.o' 2>/dev/null -exec nm -A -f sysv {} + |
        sed 's|^record/|src/record/|' | awk -F '[|]' 'NF == 7 && $1 !~ /^src\/cpu\/[^:]*:(cuda|cublas|nvtx)/ { gsub(/ /, ""); sub(/:/, "|"); print "symbol|" $0 }'
} | awk -F '[|]' -f "$tests/rooms.awk"
