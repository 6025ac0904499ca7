import { addCommand, type Parent } from '../command.js';
import { describeTimeLeft } from '../duration.js';

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
