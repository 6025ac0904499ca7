import type { BelayClient } from '@belay/sdk';
import { CliError, usage } from '../cli-error.js';
import type { Shell } from '../shell.js';

/** Returns the provider to sign in with: the named one, the only one, or the one that the user selects. */
export async function chooseAuthenticator(
  client: BelayClient,
  named: string | undefined,
  shell: Pick<Shell, 'prompts' | 'signal' | 'interactive'>,
): Promise<string> {
  const { providers } = await client.auth.providers({ signal: shell.signal });
  const ids = providers.map(({ id }) => id).join(', ');
  if (named !== undefined) {
    if (providers.some(({ id }) => id === named)) return named;
    throw new CliError('not_found', `${named} is not a sign-in provider; available: ${ids || 'none'}`);
  }
  const [only] = providers;
  if (only === undefined) throw new CliError('not_configured', 'the server has no sign-in provider');
  if (providers.length === 1) return only.id;
  if (!shell.interactive) throw usage(`--provider is required, one of: ${ids}`);
  const choices = providers.map(({ id, name, description }) => ({ value: id, label: name, hint: description }));
  return shell.prompts.select('Sign in with', choices);
}
