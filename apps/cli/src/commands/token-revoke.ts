import { addCommand, type Parent } from '../command.js';
import { printable } from '../output/printable.js';

/** Declares the command `belay token revoke <id>`, which revokes a bearer token at once. Needs the server's own database, and is recorded in its audit log. */
export function addTokenRevoke(parent: Parent): void {
  addCommand(parent, {
    name: 'revoke <id>',
    here: true,
    description: 'revoke a bearer token now (for operators, on the server’s machine)',
    examples: ['token revoke 0199a3c2-7b1e-7cc3-98c4-dc0c0c07398f'],
    run: async ({ args: [id = ''], output, shell }) => {
      const done = await shell.operator.revokeToken({ id });
      output.result(done, () => printable(done.message));
      return undefined;
    },
  });
}
