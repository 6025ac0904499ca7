import { printable } from '@belay/contract/printable';
import { addCommand, type Parent } from '../command.js';

/**
 * Declares the command `belay user separate <user> <other>`, which records that two users who have or had one address are two people, so
 * that each can decide on requests of the other. It needs the server's own database, and is recorded in the audit log with the reason.
 */
export function addUserSeparate(parent: Parent): void {
  addCommand<{ reason: string }>(parent, {
    name: 'separate <user> <other>',
    here: true,
    description:
      'record that two users with one address are two people, by e-mail or id (for operators, on the server’s machine)',
    examples: ["user separate ada@example.com grace@example.com --reason 'they share the mailbox of their team'"],
    options: (command) => command.requiredOption('--reason <text>', 'the reason, written to the audit log'),
    run: async ({ args: [user = '', other = ''], options: { reason }, output, shell }) => {
      const done = await shell.operator.separatePeople({ user, other, reason });
      output.result(done, () => printable(done.message));
      output.note('names that they share from now on make them count as one person again');
      return undefined;
    },
  });
}
