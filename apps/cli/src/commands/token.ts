import { printable } from '@belay/contract/printable';
import { addCommand, type Parent } from '../command.js';
import { describeTimeLeft } from '../duration.js';

interface CreateOptions {
  user: string;
  ttl: string;
  group?: string[];
  label?: string;
}

/**
 * Declares the command `belay token create`, which creates a bearer token for automation. It needs the server's own
 * database, and is recorded in the audit log. The token is printed once, alone on standard output, and is not stored.
 */
export function addTokenCreate(parent: Parent): void {
  addCommand<CreateOptions>(parent, {
    name: 'create',
    here: true,
    description: 'create a bearer token (for operators, on the server’s machine)',
    examples: ['token create --user bot@example.com --ttl PT8H --group robots --label nightly'],
    options: (command) =>
      command
        .requiredOption('--user <email>', 'the person that the token acts as')
        .requiredOption('--ttl <duration>', 'how long the token is valid, for example PT8H')
        .option('--group <group...>', 'the groups of the token')
        .option('--label <text>', 'a description for the audit log'),
    run: async ({ options: { user, ttl, group, label }, output, shell }) => {
      const created = await shell.operator.createToken({
        user,
        ttl,
        ...(group && { groups: group }),
        ...(label && { label }),
      });
      output.result(created, () => created.token);
      output.note(`for ${created.user.email}, until ${created.expires_at}; it is not shown again`);
      return undefined;
    },
  });
}

/** Declares the command `belay token list`, which lists the bearer tokens that are still valid, without their secrets. */
export function addTokenList(parent: Parent): void {
  addCommand<{ user?: string }>(parent, {
    name: 'list',
    here: true,
    description: 'list the valid bearer tokens (for operators, on the server’s machine)',
    examples: ['token list', 'token list --user bot@example.com --json'],
    items: ({ tokens }) => tokens,
    options: (command) => command.option('--user <email>', 'show only the tokens of this person'),
    run: async ({ options: { user }, output, shell }) => {
      const tokens = await shell.operator.listTokens(user === undefined ? {} : { user });
      output.result({ tokens }, () =>
        output.table(
          ['Id', 'Person', 'For', 'Made', 'Until', 'Left'],
          tokens.map(({ id, user: { email }, label, created_at, expires_at }) => [
            id,
            email,
            label,
            output.time(created_at),
            output.time(expires_at),
            describeTimeLeft(expires_at, shell.clock()),
          ]),
          'No valid tokens',
        ),
      );
      return undefined;
    },
  });
}

/**
 * Declares the command `belay token revoke <id>`, which revokes a bearer token at once. It needs the server's own database, and is recorded
 * in the audit log.
 */
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
