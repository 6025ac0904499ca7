import { addCommand, type Parent } from '../command.js';

/** Declares the command `belay completion <shell>`, which prints the completion script of a shell. */
export function addCompletion(parent: Parent): void {
  addCommand(parent, {
    name: 'completion <shell>',
    here: true,
    description: 'print the completion script for bash, zsh or fish',
    examples: [
      'completion bash > ~/.local/share/bash-completion/completions/belay',
      'completion zsh > "${fpath[1]}/_belay"',
      'completion fish > ~/.config/fish/completions/belay.fish',
    ],
    options: (command) => {
      const shell = command.registeredArguments[0]?.choices(['bash', 'zsh', 'fish']);
      if (shell !== undefined) shell.description = 'the shell';
      return command;
    },
    run: async ({ args: [name], output }) => {
      const { completionScript, shells } = await import('../completion/scripts.js');
      const shell = shells.find((each) => each === name) ?? 'bash';
      const script = completionScript(shell).trimEnd();
      output.result({ shell, script }, () => script);
      return undefined;
    },
  });
}
