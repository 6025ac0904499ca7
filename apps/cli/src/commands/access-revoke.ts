import { addCommand, type Parent } from '../command.js';
import { printable } from '../output/printable.js';

/**
 * Declares the command `belay access revoke <execution or e-mail>`, which revokes the access of a request or a person now. Needs the server's own database and
 * secret. The server's audit log records it with the reason. A worker revokes at the provider within seconds.
 */
export function addAccessRevoke(parent: Parent): void {
  addCommand<{ reason: string }>(parent, {
    name: 'revoke <of>',
    here: true,
    description:
      'revoke the access of a request, or of a person by e-mail, now (for operators, on the server’s machine)',
    examples: ["access revoke rita@example.com --reason 'laptop stolen'"],
    options: (command) => command.requiredOption('--reason <text>', 'the reason, written to the audit log'),
    run: async ({ args: [of = ''], options: { reason }, output, shell }) => {
      const done = await shell.operator.revokeAccess({ of, reason });
      output.result(done, () => printable(done.message));
      return undefined;
    },
  });
}
