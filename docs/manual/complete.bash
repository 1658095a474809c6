# bash completion for pipeline

# Sets kind and words for what stands behind the option $1.
_pipeline_option()
{
    kind='' words=''
    case $1 in
@bash-values@
    esac
}

# Adds each of the words that goes on with what is typed.
_pipeline_offer()
{
    local word
    for word; do
        if [[ $word == "$value"* ]]; then
            COMPREPLY+=("$before$word")
        fi
    done
}

# Adds folders, and the files with one of the endings $*; all files if there are none.
_pipeline_offer_files()
{
    local path ending
    compopt -o filenames 2>/dev/null
    while IFS= read -r path; do
        for ending in "${@-}"; do
            if [[ $path == *"$ending" || -d ${path/#~\//$HOME/} ]]; then
                COMPREPLY+=("$before$path")
                break
            fi
        done
    done < <(compgen -f -- "$value")
}

# The files there are with the endings $*, and what is typed with each ending.
_pipeline_offer_timelines()
{
    local stem ending
    for stem in "${value%.*}" "$value"; do
        for ending; do
            if [[ $stem == *[!/.] && ! -e $stem$ending ]]; then
                _pipeline_offer "$stem$ending"
            fi
        done
        if [[ ${#COMPREPLY[@]} -gt 0 ]]; then
            break
        fi
    done
    _pipeline_offer_files "$@"
}

_pipeline_offer_devices()
{
    _pipeline_offer "$@"
    if [[ $value == sim:* ]]; then
        before+=sim: value=${value#sim:}
        _pipeline_offer_files .ini
    fi
}

# The value of the option $1, as far as it is typed in $value; $before stands before it.
_pipeline_complete_value()
{
    local kind words
    _pipeline_option "$1"
    case $kind in
    text) _pipeline_offer $words ;;
    list)
        if [[ $value == *,* ]]; then
            before+=${value%,*},
            value=${value##*,}
        fi
        _pipeline_offer $words
        ;;
    file) _pipeline_offer_files ;;
    timeline) _pipeline_offer_timelines $words ;;
    machine)
        _pipeline_offer $words
        _pipeline_offer_files .ini
        ;;
    device) _pipeline_offer_devices $words ;;
    esac
}

# The program to be recorded or, where the line has it already, a word of that program's.
_pipeline_complete_program()
{
    if [[ -n $program ]]; then
        _pipeline_offer_files
        return
    fi
    _pipeline_offer_files
    COMPREPLY+=($(compgen -c -- "$value"))
}

# A word that is no option, behind the command $1, if there is one.
_pipeline_complete_word()
{
    case $1 in
    list) _pipeline_offer @lists@ ;;
    lesson) _pipeline_offer @lessons@ ;;
    help) _pipeline_offer @topics@ ;;
    view) _pipeline_offer_files .csv .sqlite .db .jsonl .json .gz ;;
    try) _pipeline_offer_files .cu .cpp .cc .c .o .a .so ;;
    record) _pipeline_complete_program ;;
    '')
        _pipeline_offer @commands@
        _pipeline_offer_files .ini
        ;;
    *) _pipeline_offer_files .ini ;;
    esac
}

# The line up to the cursor, in `line`: readline cuts words at '=' and ':', this joins them.
_pipeline_join()
{
    local i piece joins=
    for ((i = 1; i <= COMP_CWORD; i++)); do
        piece=${COMP_WORDS[i]}
        if [[ ${#line[@]} -gt 0 && (-n $joins || $piece == [=:]*) ]]; then
            line[${#line[@]} - 1]+=$piece
        else
            line+=("$piece")
        fi
        joins=
        if [[ $piece == [=:] ]]; then
            joins=yes
        fi
    done
}

# Sets `command` to the command on the line, which is run where a config file stands instead;
# `program` to the program behind record, whose words are its own; and `waiting` to the option at
# its end whose value is to come.
_pipeline_survey()
{
    local word
    command='' program='' waiting=''
    for word in "${line[@]:0:${#line[@]}-1}"; do
        if [[ -n $waiting ]]; then
            waiting=''
            continue
        fi
        case $word in
        @valued-patterns@) waiting=$word ;;
        -*) ;;
        *)
            if [[ $command == record ]]; then
                program=$word
                return
            fi
            command=${command:-$word}
            ;;
        esac
    done
    case " @commands@ " in
    *" ${command:-run} "*) ;;
    *) command=run ;;
    esac
}

_pipeline()
{
    local IFS=$' \t\n' line=() command program waiting value before='' typed cut
    COMPREPLY=()
    _pipeline_join
    typed=${line[${#line[@]} - 1]-}
    value=$typed
    _pipeline_survey
    if [[ -n $program ]]; then
        _pipeline_complete_program
    elif [[ -n $waiting ]]; then
        _pipeline_complete_value "$waiting"
    elif [[ $typed == --*=* ]]; then
        before=${typed%%=*}=
        value=${typed#*=}
        _pipeline_complete_value "${typed%%=*}"
    elif [[ $typed == -* ]]; then
        _pipeline_offer @bash-names@
    else
        _pipeline_complete_word "$command"
    fi
    # Readline wants what stands behind the last '=' or ':' at which it cut.
    cut=$typed
    [[ $COMP_WORDBREAKS == *=* ]] || cut=${cut//=/x}
    [[ $COMP_WORDBREAKS == *:* ]] || cut=${cut//:/x}
    cut=${cut%"${cut##*[=:]}"}
    COMPREPLY=("${COMPREPLY[@]/#"${typed:0:${#cut}}"/}")
    # What goes on behind the word: a value, a name in a list.
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=:,] ]]; then
        compopt -o nospace 2>/dev/null
    fi
} &&
    complete -F _pipeline pipeline
