# bash --norc --noprofile ask.bash COMPLETION <LINES: for each line "? LINE" and the words that its
# last word may become, as readline would have them asked for.
source "$1" || exit
set -f
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
function_name=$(complete -p pipeline)
[[ $function_name =~ -F\ ([^ ]+) ]]
function_name=${BASH_REMATCH[1]}

# Cuts $1 at '=' and ':', each run of which is a word of its own.
cut_word()
{
    local rest=$1
    while [[ $rest =~ ^([^=:]*)([=:]+)(.*)$ ]]; do
        [[ -n ${BASH_REMATCH[1]} ]] && COMP_WORDS+=("${BASH_REMATCH[1]}")
        COMP_WORDS+=("${BASH_REMATCH[2]}")
        rest=${BASH_REMATCH[3]}
    done
    [[ -n $rest ]] && COMP_WORDS+=("$rest")
}

while IFS= read -r COMP_LINE; do
    COMP_WORDS=() last=''
    for word in $COMP_LINE; do
        cut_word "$word"
        last=$word
    done
    if [[ $COMP_LINE == *' ' ]]; then
        COMP_WORDS+=('')
        last=''
    fi
    COMP_POINT=${#COMP_LINE} COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
    set +f
    "$function_name" pipeline "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    set -f
    printf '? %s\n' "$COMP_LINE"
    for word in "${COMPREPLY[@]}"; do
        printf '%s\n' "${last%"${last##*[=:]}"}$word"
    done
done
