import type { StartedDeviceLogin } from '@belay/contract/auth';
import { hashSecret } from '@belay/contract/canonical';
import { AccessError } from '@belay/contract/errors';
import { deviceLogins } from '@belay/db';
import type { Store } from '../../context.js';
import { readNow } from '../../now.js';
import { requireLabel } from '../flow.js';
import { hashUserCode, newUserCode } from './codes.js';

/** How often a program may poll for the approval, in seconds. */
export const deviceInterval = 5;

/**
 * Starts a login for a machine without a browser (RFC 8628, section 3.2): returns one code for the machine, and one for
 * the person. Throws `invalid` for the label, and `unavailable` when no free code was found.
 */
export async function startDeviceLogin(ctx: Store, input: { label: string }): Promise<StartedDeviceLogin> {
  const label = requireLabel(input.label);
  const deviceCode = Buffer.from(ctx.randomBytes(32)).toString('base64url');
  const now = await readNow(ctx.db);
  const lifetime = ctx.timing.loginFlow;
  const page = new URL('/api/v1/auth/device', ctx.program.baseUrl);
  // Two valid codes must not be equal; the probability is one in thousands of millions.
  for (let attempt = 0; attempt < 3; attempt++) {
    const userCode = newUserCode(ctx);
    const made = await ctx.db
      .insert(deviceLogins)
      .values({
        deviceHash: hashSecret(deviceCode),
        userCodeHash: hashUserCode(userCode),
        label,
        expiresAt: new Date(now.getTime() + lifetime),
      })
      .onConflictDoNothing({ target: deviceLogins.userCodeHash })
      .returning({ id: deviceLogins.deviceHash });
    if (made.length === 0) continue;
    const complete = new URL(page);
    complete.searchParams.set('user_code', userCode);
    return {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: page.href,
      verification_uri_complete: complete.href,
      expires_in: Math.floor(lifetime / 1000),
      interval: deviceInterval,
    };
  }
  throw new AccessError('unavailable', 'No code is available at the moment; try again');
}
