/** Plays everything that happens to requests and access, at a provider that responds immediately. */
export async function tell(world) {
  const { core, ctx, requester, approver, operator, signIn, request, work, pass, workLosing, outrun } = world;
  for (let round = 0; round < 2; round += 1) {
    world.hasPlaces = round === 1;
    // Approved at two stages; its provider throttles at first, then grants; held, and given back.
    const approved = await request('staged');
    await work();
    await pass(2_000);
    await pass(5_000);
    await core.decideApproval(approver, { id: approved, verdict: 'approve', via: 'api' });
    await work();
    const second = await signIn('sam', ['security']);
    await core.decideApproval(second, { id: approved, verdict: 'approve', via: 'api' });
    await work();
    await pass(46_000);
    await pass(60_000);
    await pass(60_000);
    await core.returnAccess(requester, { execution_id: approved });
    await work();
    // Given back after its execution has ended: first with places, because that is one statement.
    world.hasPlaces = round === 0;
    const fleeting = await request('fleeting');
    await work();
    await core.returnAccess(requester, { execution_id: fleeting });
    await work();
    world.hasPlaces = round === 1;
    await request('revoking');
    await work();
    const cancelled = await request('automatic');
    await work();
    await core.cancelExecution(requester, { id: cancelled });
    await work();
    const listening = await request('listening');
    await work();
    const { input } = await core.createSignal(requester, { id: listening, type: 'go' });
    await core.signalExecution(requester, { id: listening, input });
    await work();
    const outrunning = await request('listening');
    await work();
    await core.cancelExecution(outrun(requester), { id: outrunning });
    await work();
    // Without places, so that the request leaves something to claim.
    world.hasPlaces = false;
    await request('automatic');
    await workLosing('steps');
    await workLosing('entitlements');
    world.hasPlaces = round === 1;
    await work();
    await pass(30 * 60_000);
    const refused = await request('approved');
    await work();
    await core.decideApproval(approver, { id: refused, verdict: 'deny', via: 'api' });
    await work();
    await request('automatic');
    await work();
    await pass(30 * 60_000);
    // Two grants of one step: neither is recorded with its move.
    await request('automatic', requester, ['ada@example.com', 'alan@example.com']);
    await work();
    await pass(30 * 60_000);
    // Approved, and not granted in time, so that approval is requested again.
    const late = await request('approved');
    await work();
    await core.decideApproval(approver, { id: late, verdict: 'approve', via: 'api' });
    await pass(61 * 60_000);
    await core.decideApproval(approver, { id: late, verdict: 'approve', via: 'api' });
    await work();
    await pass(30 * 60_000);
    // A person leaves, with a request that waits and access that is held.
    const leaver = await signIn('mallory', ['engineers']);
    await request('approved', leaver);
    await request('automatic', leaver);
    await work();
    await core.stopUser(operator, { user: leaver.actor.email, reason: 'A test' });
    await work();
    // They come back, and a directory reports that they are gone.
    const gone = await signIn('mallory', ['engineers']);
    await request('approved', gone);
    await request('automatic', gone);
    await work();
    const { subject } = gone.actor;
    const person = { userName: subject, externalId: subject, active: true, details: {} };
    const { id } = await core.createProvisionedUser(ctx, 'login', person);
    await core.changeProvisionedUser(ctx, 'login', id, () => ({ ...person, active: false }));
    await work();
    await core.changeProvisionedUser(ctx, 'login', id, () => person);
    await core.deleteProvisionedUser(ctx, 'login', id);
  }
}
