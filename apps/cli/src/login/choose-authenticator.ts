import type { BelayClient } from '@belay/sdk';
import { usage } from '../cli-error.js';
import type { Shell } from '../shell.js';

/**
 * The provider to sign in with: the one that was named, the only one there is, or the one that is picked when asked. What
 * is named need not be listed: a stranger is told only of the providers that are there for everyone.
 */
export async function chooseAuthenticator(
  client: BelayClient,
  named: string | undefined,
  shell: Pick<Shell, 'prompts' | 'signal' | 'interactive'>,
): Promise<string> {
  if (named !== undefined) return named;
  const { providers } = await client.auth.providers({ signal: shell.signal });
  const [only] = providers;
  if (only === undefined) throw usage('the server lists no provider to sign in with; name one with --provider');
  if (providers.length === 1) return only.id;
  const ids = providers.map(({ id }) => id).join(', ');
  if (!shell.interactive) throw usage(`say which provider to sign in with: --provider, one of ${ids}`);
  const choices = providers.map(({ id, name, description }) => ({ value: id, label: name, hint: description }));
  return shell.prompts.select('Sign in with', choices);
}
