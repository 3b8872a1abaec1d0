// What a shell runs to complete a command line: it asks the program itself, which prints a line for each candidate, the
// value and its description with a tab between them, or `:files`.

const bash = `# bash completion for outwait: outwait completion bash > ~/.local/share/bash-completion/completions/outwait
_outwait() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == ':files' ]]; then
      compopt -o default 2>/dev/null
      COMPREPLY=()
      return
    fi
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <("\${COMP_WORDS[0]}" complete-words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  # bash replaces only what stands after the equals sign.
  if [[ \${COMP_WORDS[COMP_CWORD]} == '=' || \${COMP_WORDS[COMP_CWORD-1]} == '=' ]]; then
    COMPREPLY=("\${COMPREPLY[@]#*=}")
  fi
}
complete -F _outwait outwait`;

const zsh = `#compdef outwait
# zsh completion for outwait: outwait completion zsh > a file _outwait in a folder of $fpath
_outwait() {
  local line
  local -a lines candidates
  lines=("\${(@f)$("\${words[1]}" complete-words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "\${lines[@]}"; do
    [[ -z $line ]] && continue
    if [[ $line == ':files' ]]; then
      compset -P '@'
      _files
      return
    fi
    candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( \${#candidates} )) && _describe 'outwait' candidates
}
if [[ \${funcstack[1]} == _outwait ]]; then
  _outwait "$@"
else
  compdef _outwait outwait
fi`;

const fish = `# fish completion for outwait: outwait completion fish > ~/.config/fish/completions/outwait.fish
function __outwait_complete
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  for line in ($before[1] complete-words -- $before[2..-1] "$current" 2>/dev/null)
    if test "$line" = ':files'
      if string match -q '@*' -- "$current"
        for path in (__fish_complete_path (string sub -s 2 -- "$current"))
          echo "@$path"
        end
      else
        __fish_complete_path "$current"
      end
      return
    end
    echo $line
  end
end
complete -c outwait -f -a '(__outwait_complete)'`;

export const completionScripts = { bash, zsh, fish } as const;
export type Shell = keyof typeof completionScripts;
