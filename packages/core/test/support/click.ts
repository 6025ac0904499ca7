import { type CompletedLogin, type Context, decideProgramLogin, verifyLogin, withActor } from '@belay/core';

/** Clicks on the page that asks whether a program may sign in, in the browser that it was begun in; the program's code. */
export async function clickFor(ctx: Context, done: CompletedLogin, browserSecret: string): Promise<string> {
  const verified = await verifyLogin(ctx, { token: done.token });
  if (!verified) throw new Error('not signed in');
  const request = new URL(done.callback ?? '').searchParams.get('request') ?? '';
  const input = { request, browserSecret, verdict: 'approve' } as const;
  const { location } = await decideProgramLogin(withActor(ctx, verified.actor), input);
  return new URL(location).searchParams.get('code') ?? '';
}
