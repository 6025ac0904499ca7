/** The shells with a completion script. */
export const shells = ['bash', 'zsh', 'fish'] as const;
export type ShellName = (typeof shells)[number];

/*
 * Each script gets the candidates from the program, so that a script that was sourced long ago knows the current
 * commands. The program prints one line for each candidate: the value, a tab and its description. It prints `:files`
 * alone to complete file names.
 */
const bash = `# belay completion for bash. In ~/.bashrc: source <(belay completion bash)
_belay() {
  local answer line
  answer="$("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)"
  COMPREPLY=()
  if [[ "$answer" == ':files' ]]; then
    compopt -o default 2>/dev/null
    return
  fi
  while IFS= read -r line; do
    [[ -n "$line" ]] && COMPREPLY+=("\${line%%$'\\t'*}")
  done <<<"$answer"
}
complete -F _belay belay
`;

const zsh = `#compdef belay
# belay completion for zsh. In ~/.zshrc, after compinit: source <(belay completion zsh)
_belay() {
  local -a lines described
  local line
  lines=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "\${lines[1]}" == ':files' ]]; then
    _files
    return
  fi
  for line in $lines; do
    [[ -n "$line" ]] || continue
    described+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( \${#described} )) && _describe 'belay' described
}
if [[ "\${funcstack[1]}" == '_belay' ]]; then
  _belay "$@"
else
  compdef _belay belay
fi
`;

const fish = `# belay completion for fish. Once: belay completion fish > ~/.config/fish/completions/belay.fish
function __belay_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l answer ($words[1] __complete $words[2..-1] 2>/dev/null)
    if test "$answer" = ':files'
        __fish_complete_path (commandline -ct)
        return
    end
    printf '%s\\n' $answer
end
complete -c belay -f -a '(__belay_complete)'
`;

/** Returns the completion script of a shell. */
export function completionScript(shell: ShellName): string {
  return { bash, zsh, fish }[shell];
}
