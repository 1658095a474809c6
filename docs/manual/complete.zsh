#compdef pipeline
# zsh completion for pipeline

_pipeline_commands() {
  local -a commands=(
@zsh-commands@
  )
  _describe -t commands command commands
}

_pipeline_first_word() {
  _alternative 'commands:command:_pipeline_commands' \
    'configs:config file:_files -g "*.ini(-.)"'
}

# A chain: names with commas between, and one may come again.
_pipeline_kernels() {
  local -a kernels=(
@zsh-kernels@
  )
  compset -P '*,'
  compset -S ',*'
  _describe -t kernels kernel kernels
}

_pipeline_devices() {
  local -a devices=(
@zsh-devices@
  )
  if compset -P 'sim:'; then
    devices=(${${(M)devices:#sim\\:*}#sim\\:})
    _alternative 'machines:machine:(( ${(@q)devices} ))' 'files:machine file:_files -g "*.ini(-.)"'
  else
    _describe -t devices device devices
  fi
}

_pipeline_machines() {
  _alternative 'machines:machine:(@machines@)' \
    'files:machine file:_files -g "*.ini(-.)"'
}

# What is typed with each ending, and the files there are.
_pipeline_timelines() {
  local stem=${PREFIX%.*}
  local -a endings=(@zsh-endings@) named
  [[ $stem == *[^/.] ]] && named=($stem.$^endings)
  _alternative 'named:file to write:compadd -f -a named' \
    "files:file to replace:_files -g '*.(${(j:|:)endings})(-.)'"
}

_pipeline_sweeps() {
  local -a sweeps=(
@zsh-sweeps@
  )
  _describe -t sweeps 'option and values' sweeps -S ''
}

# Whether the line has a program to be recorded: what follows is that program's.
_pipeline_program() {
  local -i at
  local command waiting
  for ((at = 2; at < CURRENT; at++)); do
    case $words[at] in
      (@valued-patterns@) [[ -z $waiting ]] && waiting=yes && continue ;;
      (-*) ;;
      (*)
        [[ -z $waiting && $command == record ]] && return 0
        [[ -n $waiting ]] || command=${command:-$words[at]}
        ;;
    esac
    waiting=
  done
  return 1
}

_pipeline() {
  _pipeline_program && { _files; return }
  local curcontext="$curcontext" state
  local -a line
  typeset -A opt_args
  _arguments -s -S -C \
@zsh-options@
    '1: :_pipeline_first_word' \
    '*: :->more' && return 0
  [[ $state == more ]] || return 1
  case $line[1] in
    list) [[ $#line -eq 2 ]] && compadd -X 'what to list' @lists@ ;;
    lesson) [[ $#line -eq 2 ]] && compadd -X 'lesson' @lessons@ ;;
    help) [[ $#line -eq 2 ]] && compadd -X 'option or command' @topics@ ;;
    record) _alternative 'commands:program:_command_names -e' 'files:program or file:_files' ;;
    try) _files -g '*.(cu|cpp|cc|c|o|a|so)(-.)' ;;
    view) _files -g '*.(csv|sqlite|db|jsonl|json|gz)(-.)' ;;
    *) _files -g '*.ini(-.)' ;;
  esac
}

_pipeline "$@"
