#!/bin/sh
# check.sh OBJECTS [units] - looks whether the sources in this folder keep to docs/rooms.txt: by their
# includes, and by the symbols that the objects in the folder OBJECTS define and need. Each finding is
# one line; with one or more it fails. Files must not go round in circles: no two sources that need
# each other's symbols, nor headers that include each other, directly or round about. With `units` a
# source and its header count as one, which finds more: a table of writers and the writers that
# include its header are then a circle.
set -eu
objects=$1
{
    sed -n '/^#/d; s/ *| */|/gp' docs/rooms.txt
    find src kernels bench docs/manual -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.def' \) \
        2>/dev/null -exec grep -H '^#include "' {} + | sed 's/:#include "\([^"]*\)".*/|\1/; s/^/include|/'
    find src kernels bench docs/manual -type f 2>/dev/null | sed 's/^/file|/'
    cd "$objects"
    find src kernels bench docs generated -name '*.o' 2>/dev/null -exec nm -A -f sysv {} + |
        awk -F '[|]' 'NF == 7 { gsub(/ /, ""); sub(/:/, "|"); print "symbol|" $0 }'
} | awk -F '[|]' -v by="${2:-files}" -f "$(dirname "$0")/rooms.awk"
