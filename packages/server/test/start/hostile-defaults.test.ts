import { afterEach, beforeEach, it } from 'vitest';
import { type Hostile, openHostile, tellStory } from './hostile-story.js';

let hostile: Hostile;
beforeEach(async () => {
  hostile = await openHostile();
});
afterEach(() => hostile[Symbol.asyncDispose]());

it('grants on approval and ends on time where every default of its database and of the target is hostile', async () => {
  const { admin, name } = hostile;
  const [role, target, connector, rita] = [name('role'), name('target'), name('connector'), 'rita'];
  const urlOf = await hostile.login(connector);
  await hostile.database(target);
  await admin.unsafe(`create role ${role}`);
  const exists = (await admin`select from pg_roles where rolname = ${rita}`).length > 0;
  if (!exists) await admin.unsafe(`create role ${rita} login`);
  try {
    await admin.unsafe(`grant ${role} to ${connector} with admin option; grant pg_signal_backend to ${connector}`);
    await tellStory(hostile, {
      provider: `    provider: postgres
    config: { url: '\${env:TARGET_URL}', identity: username, email_domains: [example.com] }`,
      role,
      variables: { TARGET_URL: urlOf(target) },
      async holds() {
        const members = await admin`
          select from pg_auth_members where roleid = ${role}::regrole and member = ${rita}::regrole`;
        return members.length > 0;
      },
    });
  } finally {
    await admin.unsafe(`drop role ${role}`);
    if (!exists) await admin.unsafe(`drop role ${rita}`);
  }
});
