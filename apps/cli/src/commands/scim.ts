import { printable } from '@belay/contract/printable';
import { addCommand, type Parent } from '../command.js';
import { describeTimeLeft } from '../duration.js';

interface CreateOptions {
  provider: string;
  ttl: string;
}

/**
 * Declares the command `belay scim create-token`, which creates the bearer token with which a provider's directory provisions people. It
 * needs the server's own database, and is recorded in the audit log. The token is printed once, alone on standard output, and is not
 * stored.
 */
export function addScimCreateToken(parent: Parent): void {
  addCommand<CreateOptions>(parent, {
    name: 'create-token',
    here: true,
    description: 'create the SCIM token of a directory (for operators, on the server’s machine)',
    examples: ['scim create-token --provider okta --ttl P180D'],
    options: (command) =>
      command
        .requiredOption('--provider <name>', 'the sign-in provider whose people the directory provisions')
        .requiredOption('--ttl <duration>', 'how long the token is valid, for example P180D'),
    run: async ({ options: { provider, ttl }, output, shell }) => {
      const created = await shell.operator.createScimToken({ provider, ttl });
      output.result(created, () => created.token);
      output.note(`${created.id} for ${created.provider}, until ${created.expires_at}; it is not shown again`);
      return undefined;
    },
  });
}

/** Declares the command `belay scim list-tokens`, which lists the valid SCIM tokens, without their secrets. */
export function addScimListTokens(parent: Parent): void {
  addCommand(parent, {
    name: 'list-tokens',
    here: true,
    description: 'list the valid SCIM tokens (for operators, on the server’s machine)',
    examples: ['scim list-tokens', 'scim list-tokens --json'],
    items: ({ tokens }) => tokens,
    run: async ({ output, shell }) => {
      const tokens = await shell.operator.listScimTokens();
      output.result({ tokens }, () =>
        output.table(
          ['Id', 'Provider', 'Made', 'Until', 'Left'],
          tokens.map(({ id, provider, created_at, expires_at }) => [
            id,
            provider,
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
 * Declares the command `belay scim revoke-token <id>`, which revokes the SCIM token of a directory at once. It needs the server's own
 * database, and is recorded in the audit log.
 */
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
