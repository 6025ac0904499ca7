import { closeReview, extendElevation, getExecution, listReviews, stopUser } from '@belay/core';
import { describe, expect, it } from 'vitest';
import { emergencyCatalog, justified, only, shown, stageEmergencies } from './support/emergencies.js';
import { approve, ask, hour, minute, together } from './support/stories.js';

describe('the review of an emergency', () => {
  const { open, use, told, entries } = stageEmergencies();

  it('is opened with the access, told to its reviewers, and closed by one of them after the access has ended', async () => {
    const { house, ada, sue } = await open();
    const id = await use();
    const { grants } = await getExecution(ada, { id });
    const before = await only(sue);
    expect(before).toMatchObject({
      execution_id: id,
      status: 'open',
      overdue: false,
      role: 'reader',
      reason: 'a ticket',
      requester: { email: 'ada@example.com' },
      reviewers: { users: [], groups: ['security'] },
      active_from: grants[0]?.granted_at,
      active_until: grants[0]?.expires_at,
      due_at: '2026-03-03T11:00:00.000Z',
      verdict: null,
      may_close: false,
    });
    expect(told()).toEqual([['sue@example.com', 'To review: emergency access of ada to reader']]);
    await expect(closeReview(sue, { id: before.id, ...justified })).rejects.toMatchObject({ code: 'conflict' });
    await house.pass(2 * hour);
    expect((await only(sue)).may_close).toBe(true);
    expect(await closeReview(sue, { id: before.id, ...justified })).toMatchObject({
      status: 'closed',
      ...justified,
      closed_by: { email: 'sue@example.com' },
      closed_at: '2026-03-01T12:00:00.000Z',
      may_close: false,
    });
    expect(await shown(sue)).toEqual([]);
    expect(await only(sue, { status: 'closed' })).toMatchObject(justified);
    expect(await only(sue, { execution_id: id })).toMatchObject(justified);
    const [opened] = await entries('review.opened');
    expect(opened).toMatchObject({
      execution_id: id,
      user_id: ada.actor.id,
      actor: { system: 'reviews' },
      message: 'The use of reader, a role for emergencies, has to be reviewed before 2026-03-03T11:00:00.000Z',
    });
    const [closed] = await entries('review.closed');
    expect(closed).toMatchObject({
      execution_id: id,
      level: 'info',
      actor: { email: 'sue@example.com' },
      message: `sue@example.com reviewed the use of reader by ada@example.com, and found it justified: ${justified.note}`,
    });
    const { history } = await getExecution(ada, { id });
    expect(history.map(({ event_type }) => event_type)).toEqual(
      expect.arrayContaining(['review.opened', 'review.closed']),
    );
  });

  it('is committed with the access or not at all', async () => {
    const { house, ada, olga } = await open();
    const { sql } = house.database;
    await sql`alter table reviews add constraint full_disk check (false) not valid`;
    const id = await use();
    expect(await getExecution(ada, { id })).not.toMatchObject({ state: 'active' });
    expect(await shown(olga)).toEqual([]);
    await sql`alter table reviews drop constraint full_disk`;
    await house.pass(minute);
    expect(await getExecution(ada, { id })).toMatchObject({ state: 'active' });
    expect(await shown(olga)).toHaveLength(1);
  });

  it('holds the access up by no notice that cannot be written, and is not opened for what was never granted', async () => {
    const { house, ada, olga } = await open();
    const { sql } = house.database;
    await sql`alter table notices add constraint full_disk check (false) not valid`;
    const id = await use();
    expect(await getExecution(ada, { id })).toMatchObject({ state: 'active' });
    await sql`alter table notices drop constraint full_disk`;
    await ask(house, ada, { workflow: 'approved' });
    await house.pass(48 * hour);
    expect(await shown(olga)).toHaveLength(1);
  });

  it('is one for a use with its extensions, due after the last of them, and another one for a use after it', async () => {
    const { house, ada, sue } = await open();
    const id = await use();
    await house.pass(30 * minute);
    const { output } = await extendElevation(ada, { id, duration: 'PT2H' });
    await house.work();
    const first = await only(sue);
    expect(first).toMatchObject({ execution_id: id, extensions: 1, due_at: '2026-03-03T12:30:00.000Z' });
    expect(await only(sue, { execution_id: output.execution_id })).toMatchObject({ id: first.id });
    await house.pass(hour);
    await expect(closeReview(sue, { id: first.id, ...justified })).rejects.toMatchObject({ code: 'conflict' });
    await house.pass(2 * hour);
    await closeReview(sue, { id: first.id, ...justified });
    const next = await use();
    expect(await only(sue)).toMatchObject({ execution_id: next, extensions: 0 });
  });

  it('is another one for an extension that becomes active after the first was closed', async () => {
    const { house, ada, grace, sue } = await open();
    const id = await ask(house, ada, { duration: 'PT1H' });
    await approve(grace, id);
    await house.work();
    const { output } = await extendElevation(ada, { id, duration: 'PT8H' });
    await house.work();
    await house.pass(2 * hour);
    await closeReview(sue, { id: (await only(sue)).id, ...justified });
    await approve(grace, output.execution_id);
    await house.work();
    expect(await getExecution(ada, { id: output.execution_id })).toMatchObject({ state: 'active' });
    expect(await only(sue)).toMatchObject({ execution_id: id, status: 'open', may_close: false });
    expect(await shown(sue, { status: 'all' })).toHaveLength(2);
  });

  it('is another one for access that becomes active while the first is being closed', async () => {
    const { house, sue } = await open();
    const { sql } = house.database;
    const id = await use();
    await house.pass(2 * hour);
    const [grant] = await sql`select id from grants`;
    await sql`update grants set activated_at = null`;
    let activating: Promise<unknown> = Promise.resolve();
    await sql.begin(async (tx) => {
      await tx`update reviews set closed_at = app_now(), closed_by = ${sue.actor.id}, verdict = 'justified', note = 'seen'`;
      activating =
        sql`update grants set activated_at = app_now(), expires_at = app_now() + interval '1 hour' where id = ${grant?.id}`.execute();
      await expect
        .poll(() => house.ctx.db.execute('select 1 from pg_locks where not granted and pid <> pg_backend_pid()'))
        .not.toHaveLength(0);
    });
    await activating;
    expect(await only(sue)).toMatchObject({ execution_id: id, status: 'open' });
    expect(await shown(sue, { status: 'all' })).toHaveLength(2);
  });

  it('is not closed by the requester, who is a reviewer or an administrator, and not with a second account', async () => {
    const by = { users: ['ada@example.com'], groups: ['security', 'engineers'] };
    const { house, sue, olga, mallory } = await open(
      emergencyCatalog({ role: { break_glass: { tell: { groups: ['security'] }, review: { by } } } }),
    );
    const { sql } = house.database;
    const ada = await house.person('ada', ['engineers', 'platform', 'security']);
    await use(ada);
    await house.pass(2 * hour);
    const { id } = await only(sue);
    expect((await only(ada)).may_close).toBe(false);
    // Another user whose identity has the same address.
    const double = await house.person('double', ['security', 'engineers', 'platform']);
    await sql`update user_identities set email_folded = 'ada@example.com' where user_id = ${double.actor.id}`;
    for (const person of [ada, double])
      await expect(closeReview(person, { id, ...justified })).rejects.toMatchObject({ code: 'forbidden' });
    const plain = { ...double, actor: { ...double.actor, groups: ['security'] } };
    expect(await shown(plain)).toEqual([]);
    await expect(closeReview(mallory, { id, ...justified })).rejects.toMatchObject({ code: 'not_found' });
    expect(told().map(([to]) => to)).not.toContain('ada@example.com');
    expect(await closeReview(olga, { id, ...justified })).toMatchObject({ status: 'closed' });
  });

  it('is not closed by the person to whom a colleague gave the access', async () => {
    const { house, ada, sue } = await open(
      emergencyCatalog({ role: { permissions: { groups: ['engineers'], delegates: { users: ['ada@example.com'] } } } }),
    );
    const grace = await house.person('grace', ['security']);
    await ask(house, ada, { workflow: 'automatic', duration: 'PT1H', identities: ['grace@example.com'] });
    await house.pass(2 * hour);
    const { id } = await only(sue);
    await expect(closeReview(grace, { id, ...justified })).rejects.toMatchObject({ code: 'forbidden' });
    expect(told().map(([to]) => to)).toEqual(['sue@example.com']);
  });

  it.each([
    ['another address of the account', { email: 'shared@example.org', addresses: ['gwen@example.com'] }],
    ['a sign-in', { email: '', logins: [{ provider: 'login', subject: 'Gwen' }] }],
  ])('is not offered to that person, known by %s, nor closed by them', async (_, account) => {
    const { house, ada } = await open(
      emergencyCatalog({ role: { permissions: { groups: ['engineers'], delegates: { users: ['ada@example.com'] } } } }),
    );
    const gwen = await house.person('Gwen', ['security']);
    const known = house.provider.options.people?.find(({ email }) => email === 'grace@example.com');
    if (known) Object.assign(known, { id: 'U-9', ...account });
    await ask(house, ada, { workflow: 'automatic', duration: 'PT1H', identities: ['U-9'] });
    await house.pass(2 * hour);
    const { id, may_close } = await only(gwen);
    expect(may_close).toBe(false);
    await expect(closeReview(gwen, { id, ...justified })).rejects.toMatchObject({ code: 'forbidden' });
    expect(told().map(([to]) => to)).toEqual(['sue@example.com']);
  });

  it('is not closed by that person either when the system did not know their address as the access was given', async () => {
    const { house, ada, sue } = await open(
      emergencyCatalog({ role: { permissions: { groups: ['engineers'], delegates: { users: ['ada@example.com'] } } } }),
    );
    const grace = await house.person('grace', ['security']);
    const known = house.provider.options.people?.find(({ email }) => email === 'grace@example.com');
    if (known) Object.assign(known, { id: 'U-9', email: '' });
    await ask(house, ada, { workflow: 'automatic', duration: 'PT1H', identities: ['U-9'] });
    await house.pass(2 * hour);
    if (known) known.email = 'grace@example.com';
    const { id } = await only(sue);
    await expect(closeReview(grace, { id, ...justified })).rejects.toMatchObject({ code: 'forbidden' });
    // A person who is not concerned learns nothing, and no system is called about them.
    const mallory = await house.person('mallory');
    house.provider.down = true;
    await expect(closeReview(mallory, { id, ...justified })).rejects.toMatchObject({ code: 'not_found' });
    house.provider.down = false;
    expect(await closeReview(sue, { id, ...justified })).toMatchObject({ status: 'closed' });
  });

  it('is seen by auditors, who cannot close it, and by no one else who has no part in it', async () => {
    const { house, ada, otto, olga, grace, sue } = await open();
    const id = await use();
    await house.pass(2 * hour);
    const { id: reviewed } = await only(otto);
    expect(await only(otto)).toMatchObject({ execution_id: id, may_close: false });
    expect((await only(olga)).may_close).toBe(true);
    await expect(closeReview(otto, { id: reviewed, ...justified })).rejects.toMatchObject({ code: 'forbidden' });
    expect([await shown(grace), await shown(ada)]).toEqual([[], []]);
    await expect(closeReview(grace, { id: reviewed, ...justified })).rejects.toMatchObject({ code: 'not_found' });
    expect(await getExecution(sue, { id })).toMatchObject({ break_glass: true });
    await expect(getExecution(grace, { id })).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is closed once, by one of several who close it at once', async () => {
    const { house, sue, olga } = await open();
    const eve = await house.person('eve', ['security']);
    await use();
    await house.pass(2 * hour);
    const { id } = await only(sue);
    const closing = [sue, olga, eve, sue].map((person) =>
      closeReview(person, { id, verdict: 'not_justified', note: person.actor.name }),
    );
    expect((await together(closing)).sort()).toEqual(['conflict', 'conflict', 'conflict', 'ok']);
    const [entry, ...others] = await entries('review.closed');
    expect([entry?.level, others]).toEqual(['warning', []]);
    const { sql } = house.database;
    await expect(sql`update reviews set verdict = 'justified' where id = ${id}`).rejects.toThrow(/closed once/);
    await expect(sql`delete from reviews where id = ${id}`).rejects.toThrow(/closed once/);
  });

  it.each([
    ['an id of none', { id: '019ab3c4-5d6e-7f80-9a1b-2c3d4e5f6071' }, 'not_found'],
    ['an id that is no id', { id: "1'; drop table reviews" }, 'not_found'],
    ['the id of its request', {}, 'not_found'],
    ['a note of 1 MB', { note: 'x'.repeat(1_000_000) }, 'invalid'],
    ['a note without words', { note: ' \n\t ' }, 'invalid'],
    ['a note with a NUL', { note: 'a\0b' }, 'invalid'],
    ['a note with half a character', { note: 'a\ud800' }, 'invalid'],
  ])('is not closed by %s', async (what, given, code) => {
    const { house, sue } = await open();
    const execution = await use();
    await house.pass(2 * hour);
    const { id } = await only(sue);
    const asked = { id: what === 'the id of its request' ? execution : id, ...justified, ...given };
    await expect(closeReview(sue, asked)).rejects.toMatchObject({ code });
    expect((await only(sue)).status).toBe('open');
  });

  it('keeps a note with control characters as it was written, in one entry', async () => {
    const { house, sue } = await open();
    await use();
    await house.pass(2 * hour);
    const note = 'one\nreview.closed\u001b[2Jtwo\u202e';
    const { id } = await only(sue);
    expect((await closeReview(sue, { id, verdict: 'justified', note })).note).toBe(note);
    expect(await entries('review.closed')).toHaveLength(1);
  });

  it('waits for the reviewers that the role named when it was requested, also after the configuration has changed', async () => {
    const { house, sue, grace } = await open();
    await use();
    await house.pass(2 * hour);
    const { id } = await only(sue);
    await house.applyCatalog(emergencyCatalog({ role: { break_glass: undefined } }));
    expect((await only(sue)).id).toBe(id);
    const other = { tell: { groups: ['watch'] }, review: { by: { groups: ['approvers'] } } };
    await house.applyCatalog(emergencyCatalog({ role: { break_glass: other, enabled: false } }));
    expect(await shown(grace)).toEqual([]);
    expect(await closeReview(sue, { id, ...justified })).toMatchObject({ status: 'closed' });
  });

  it('is not closed by a reviewer who has left or was stopped, and is closed by another', async () => {
    const { house, sue, olga } = await open();
    const eve = await house.person('eve', ['security']);
    await use();
    await house.pass(2 * hour);
    const { id } = await only(sue);
    await house.database.sql`update users set deprovisioned_at = app_now() where id = ${sue.actor.id}`;
    await stopUser(olga, { user: 'eve@example.com', reason: 'gone' });
    for (const person of [sue, eve])
      await expect(closeReview(person, { id, ...justified })).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(await closeReview(olga, { id, ...justified })).toMatchObject({ status: 'closed' });
  });

  it('is not closed with groups that are too old', async () => {
    const { house, sue } = await open();
    await use();
    await house.pass(2 * hour);
    const { id } = await only(sue);
    const stale = { ...sue, actor: { ...sue.actor, stale: true as const } };
    await expect(closeReview(stale, { id, ...justified })).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('is not opened for a role that asks for none', async () => {
    const { olga } = await open(emergencyCatalog({ role: { break_glass: { tell: { groups: ['watch'] } } } }));
    await use();
    expect(await shown(olga)).toEqual([]);
    expect(await entries('review.opened')).toEqual([]);
  });

  it('is listed in pages, the oldest open one first', async () => {
    const { house, ada, alan, sue } = await open();
    const ids: string[] = [];
    for (const person of [ada, alan, ada]) {
      ids.push(await use(person));
      await house.pass(2 * hour);
    }
    const pages: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await listReviews(sue, { limit: 1, ...(cursor === undefined ? {} : { cursor }) });
      pages.push(...page.reviews.map(({ execution_id }) => execution_id));
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
    expect(pages).toEqual(ids);
    expect((await shown(sue, { status: 'all' })).map(({ execution_id }) => execution_id)).toEqual([...ids].reverse());
    await expect(listReviews(sue, { cursor: "1'; drop table reviews" })).rejects.toMatchObject({ code: 'invalid' });
    expect(await shown(sue, { execution_id: 'not an id' })).toEqual([]);
  });
});
