import { printable } from '@belay/contract/printable';
import { addCommand, type Parent } from '../command.js';

/**
 * Declares the command `belay user stop <e-mail>`, which ends all logins, tokens, open requests and access of a person.
 * It needs the server's own database, and is recorded in the audit log with the reason. Workers revoke at the providers
 * within seconds.
 */
export function addUserStop(parent: Parent): void {
  addCommand<{ reason: string }>(parent, {
    name: 'stop <user>',
    here: true,
    description:
      'end the logins, tokens, open requests and access of a person by e-mail, now (for operators, on the server’s machine)',
    examples: ["user stop rita@example.com --reason 'left the company'"],
    options: (command) => command.requiredOption('--reason <text>', 'the reason, written to the audit log'),
    run: async ({ args: [user = ''], options: { reason }, output, shell }) => {
      const done = await shell.operator.stopUser({ user, reason });
      output.result(done, () => printable(done.message));
      output.note('the person can sign in again as long as their identity provider allows it');
      return undefined;
    },
  });
}
