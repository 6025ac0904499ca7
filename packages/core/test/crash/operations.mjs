const second = 1_000;
const minute = 60 * second;

/** Plays a story at a provider that works on every change: its operations succeed, fail, or never end. */
export async function tell(world) {
  const { core, requester, operator, signIn, request, work, pass, workLosing, outrun } = world;
  const poll = async () => {
    for (let times = 0; times < 4; times += 1) await pass(5 * second);
  };
  for (let round = 0; round < 2; round += 1) {
    world.hasPlaces = round === 1;
    // Held, and given back; its first revocation fails.
    const held = await request('automatic');
    await work();
    await poll();
    await core.returnAccess(requester, { execution_id: held });
    await work();
    await poll();
    await pass(16 * minute);
    // Its grant fails.
    await request('automatic');
    await work();
    await poll();
    await pass(16 * minute);
    // Cancelled while it is granted.
    const cancelled = await request('automatic');
    await work();
    await core.cancelExecution(outrun(requester), { id: cancelled });
    await work();
    await poll();
    await pass(16 * minute);
    // Two grants of one step, one of which fails. Without places, so that there is something to claim and claims can be lost.
    world.hasPlaces = false;
    await request('revoking', requester, ['ada@example.com', 'mallory@example.com']);
    await workLosing('steps');
    await workLosing('entitlements');
    world.hasPlaces = round === 1;
    await work();
    await poll();
    await pass(16 * minute);
    // A person leaves while they are granted access.
    const leaver = await signIn('mallory', ['engineers']);
    await request('automatic', leaver);
    await work();
    await core.stopUser(operator, { user: leaver.actor.email, reason: 'A test' });
    await work();
    await poll();
    await pass(16 * minute);
    // A revocation that never ends, of access whose time is over, and a grant that never ends.
    await request('automatic', requester, ['grace@example.com']);
    await work();
    await poll();
    await pass(31 * minute);
    await request('automatic', requester, ['alan@example.com']);
    await work();
    await poll();
    await pass(minute);
    await pass(minute);
    await pass(120 * minute);
  }
}
