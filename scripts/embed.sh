#!/bin/sh
# Prints a C file that holds the machine files given as arguments: machine_texts of machine.h.
set -eu
echo '/* Generated from configs/machines/ by scripts/embed.sh. */'
echo '#include "machine.h"'
echo
echo 'const struct machine_text machine_texts[] = {'
for file in "$@"; do
    echo "    {\"$(basename "$file" .ini)\","
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/     "/' -e 's/$/\\n"/' "$file"
    echo '    },'
done
echo '    {NULL, NULL},'
echo '};'
