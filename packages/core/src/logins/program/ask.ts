import { hashSecret } from '@belay/contract/canonical';
import { programLogins, type Transaction } from '@belay/db';
import type { Person, Store } from '../../context.js';

/** The request of a program that sent the browser here. */
export interface AskedByProgram {
  callback: string;
  codeChallenge: string;
  label: string | null;
}

/**
 * Stores a program's sign-in until its person has confirmed it, and returns the confirmation page. Without it, a page
 * of another site could send a signed-in browser through the whole flow and have the code sent to its own program (RFC
 * 8252, section 8.6). Bound to the browser and to the login that was just created in it.
 */
export async function askForProgram(
  ctx: Store,
  tx: Transaction,
  input: AskedByProgram & { user: Person; loginId: string; browserHash: string; now: Date },
): Promise<URL> {
  const { user, now, ...asked } = input;
  const request = Buffer.from(ctx.randomBytes(32)).toString('base64url');
  await tx.insert(programLogins).values({
    ...asked,
    requestHash: hashSecret(request),
    provider: user.provider,
    subject: user.subject,
    expiresAt: new Date(now.getTime() + ctx.timing.loginFlow),
  });
  const page = new URL('/api/v1/auth/program', ctx.program.baseUrl);
  page.searchParams.set('request', request);
  return page;
}
