# zsh -f ask.zsh FOLDER <LINES: for each line "? LINE" and the words that its last word may become:
# a shell of its own, on a terminal of its own, is typed the line and a tab. FOLDER holds _pipeline.
zmodload zsh/zpty zsh/zselect
folder=$1
hits=$(mktemp) || exit 1
trap 'rm -f $hits $hits.done' EXIT

zpty -b shell zsh -f -i
# What is added goes into a file as well; what compadd only looks up (-O, -A, -D) does not.
zpty -w shell "
PS1= PS2= RPS1= LISTMAX=100000
unsetopt zle_bracketed_paste beep
stty -echo
fpath=(${(q)folder} \$fpath)
autoload -Uz compinit
compinit -u -D
zstyle ':completion:*' insert-tab false
compadd() {
  if [[ \${@[1,(i)(-|--)]} == *(-[OAD]|-[OAD]?*)* ]]; then
    builtin compadd \"\$@\"
    return
  fi
  local -a found
  builtin compadd -O found \"\$@\"
  (( \$#found )) || return 1
  local prefix=\$IPREFIX at=\${@[(ie)-p]}
  (( at < \$# )) && prefix+=\$@[at+1]
  print -rl -- \$prefix\$^found >>$hits
  builtin compadd \"\$@\"
}
_told() { : >$hits.done; zle kill-whole-line }
zle -N _told
bindkey '^I' expand-or-complete '^X^X' _told '^U' kill-whole-line
"
# Waits until the shell has done what it was told, at most a minute.
wait_for() {
  local i
  for ((i = 0; i < 6000; i++)); do
    [[ -e $hits.done ]] && rm $hits.done && return
    zpty -t shell && zpty -r shell >/dev/null
    zselect -t 1
  done
  print -u2 "ask.zsh: no answer"
  exit 1
}
zpty -w -n shell $'\C-x\C-x'
wait_for

while IFS= read -r line; do
  : >$hits
  zpty -w -n shell "$line"$'\t\C-x\C-x'
  wait_for
  print -r -- "? $line"
  while IFS= read -r hit; do
    print -r -- ${(Q)hit}
  done <$hits
done
