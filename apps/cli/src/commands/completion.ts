import { Argument } from 'commander';
import { addCommand, type Parent } from '../command.js';

/** `belay completion <shell>`: what the shell has to source to complete command lines. */
export function addCompletion(parent: Parent): void {
  addCommand(parent, {
    name: 'completion',
    here: true,
    description: 'print what makes bash, zsh or fish complete command lines',
    examples: [
      'completion bash > ~/.local/share/bash-completion/completions/belay',
      'completion zsh > "${fpath[1]}/_belay"',
      'completion fish > ~/.config/fish/completions/belay.fish',
    ],
    options: (command) => command.addArgument(new Argument('<shell>', 'of which').choices(['bash', 'zsh', 'fish'])),
    run: async ({ args: [name], output }) => {
      const { completionScript, shells } = await import('../completion/scripts.js');
      const shell = shells.find((each) => each === name) ?? 'bash';
      const script = completionScript(shell).trimEnd();
      output.result({ shell, script }, () => script);
      return undefined;
    },
  });
}
