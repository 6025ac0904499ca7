import { addCommand, type Parent } from '../command.js';
import { describeTimeLeft } from '../duration.js';

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
