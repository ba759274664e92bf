# bash completion of pipewright: the program itself says what may follow.
_pipewright() {
  local program=${COMP_WORDS[0]/#\~/$HOME} word help files=
  type -P "$program" >/dev/null || program=pipewright
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  while IFS=$'\t' read -r word help; do
    if [[ $word == :files ]]; then
      files=yes
      continue
    fi
    # bash takes what follows a "=" for a word of its own.
    [[ $current == "=" || $before == "=" ]] && word=${word##*=}
    [[ $word == *= ]] && compopt -o nospace
    COMPREPLY+=("$word")
  done < <("$program" completion --candidates -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ $files ]]; then
    [[ $current == "=" ]] && current=
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
    compopt -o filenames
  fi
} 2>/dev/null
complete -F _pipewright pipewright
