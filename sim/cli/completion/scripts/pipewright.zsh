#compdef pipewright
# zsh completion of pipewright: the program itself says what may follow.
_pipewright() {
  local line word files=
  local -a words_before keys values
  words_before=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      files=yes
      continue
    fi
    word=${line%%$'\t'*}
    line=${word//:/\\:}:${line#$word}
    line=${line//$'\t'/}
    if [[ $word == *= ]]; then keys+=("$line"); else values+=("$line"); fi
  done < <("${(Q)words[1]}" completion --candidates -- "${(@)words_before}" 2>/dev/null)
  local none=1
  (( $#keys )) && _describe -t keys key keys -S '' && none=0
  (( $#values )) && _describe -t values value values && none=0
  [[ -n $files ]] && _files && none=0
  return none
}
if [[ $funcstack[1] == _pipewright ]]; then
  _pipewright "$@"
elif (( $+functions[compdef] )); then
  compdef _pipewright pipewright
fi
