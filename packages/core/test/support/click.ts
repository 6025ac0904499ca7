import { type CompletedLogin, type Context, decideProgramLogin, verifyLogin, withActor } from '@belay/core';

/** Confirms the sign-in of a program, in the browser that began it; returns the program's code. */
export async function clickFor(ctx: Context, done: CompletedLogin, browserSecret: string): Promise<string> {
  const verified = await verifyLogin(ctx, { token: done.token });
  if (!verified) throw new Error('not signed in');
  const request = new URL(done.callback ?? '').searchParams.get('request') ?? '';
  const input = { request, browserSecret, verdict: 'approve' } as const;
  const { location } = await decideProgramLogin(withActor(ctx, verified.actor), input);
  return new URL(location).searchParams.get('code') ?? '';
}
