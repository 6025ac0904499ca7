import { addCommand, type Parent } from '../command.js';
import { printable } from '../output/printable.js';

/** Declares the command `belay scim revoke-token <id>`, which revokes the SCIM token of a directory at once. Needs the server's own database, and is recorded in its audit log. */
export function addScimRevokeToken(parent: Parent): void {
  addCommand(parent, {
    name: 'revoke-token <id>',
    here: true,
    description: 'revoke a SCIM token now (for operators, on the server’s machine)',
    examples: ['scim revoke-token 0199a3c2-7b1e-7cc3-98c4-dc0c0c07398f'],
    run: async ({ args: [id = ''], output, shell }) => {
      const done = await shell.operator.revokeScimToken({ id });
      output.result(done, () => printable(done.message));
      return undefined;
    },
  });
}
