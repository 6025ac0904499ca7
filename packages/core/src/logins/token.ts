import { hashSecret } from '@belay/contract/canonical';
import { AccessError, invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import { logins, type Transaction, userIdentities } from '@belay/db';
import { desc, eq, sql } from 'drizzle-orm';
import { operatorProvider } from '../configuration/authenticators.js';
import type { ActorStore, Person, Store } from '../context.js';
import { requireDuration } from '../duration.js';
import { appendLedger } from '../ledger/append.js';
import { isTrusted } from '../people/admission.js';
import { identitiesWith } from '../people/certain.js';
import { foldAddress } from '../people/names.js';
import { asPerson, toPerson, upsertUser } from '../people/people.js';
import { requireText } from '../text.js';
import { timing } from '../timing.js';
import { newLoginSecret } from './lucia.js';

export interface CreateToken {
  /** E-mail address. */
  user: string;
  /** ISO 8601 or the short form. */
  ttl: string;
  /** For a person who has not signed in yet. */
  groups?: string[] | undefined;
  label?: string | undefined;
}

/**
 * Creates a bearer token for a person or an automation (`belay token create`): operators only, audited, with a fixed
 * end. A person who has signed in keeps the name and groups from their provider; other groups are rejected. Throws
 * `forbidden` or `invalid`.
 */
export async function createToken(
  ctx: ActorStore,
  input: CreateToken,
): Promise<{ token: string; expires_at: string; user: { email: string; name: string; groups: string[] } }> {
  if (ctx.actor.kind !== 'operator') throw new AccessError('forbidden', 'Only operators can create tokens');
  const ttl = requireDuration(input.ttl, 'ttl');
  if (ttl > timing.year) throw invalid('ttl', 'is longer than one year');
  const email = foldAddress(input.user.trim());
  if (email === undefined) {
    throw invalid('user', 'is not an e-mail address in canonical form: write it as rita@example.com');
  }
  if (input.label !== undefined) requireText(input.label, 'label', limits.name);
  const token = newLoginSecret(ctx);
  const { actor } = ctx;
  return ctx.db.transaction(async (tx) => {
    const user = await chooseIdentity(ctx, tx, email, input.groups);
    const loginId = ctx.newId();
    const [login] = await tx
      .insert(logins)
      .values({
        secretHash: hashSecret(token),
        id: loginId,
        userId: user.id,
        kind: 'token',
        provider: user.provider,
        subject: user.subject,
        label: input.label ?? null,
        expiresAt: sql`app_now() + ${`${ttl} milliseconds`}::interval`,
        endsAt: sql`app_now() + ${`${ttl} milliseconds`}::interval`,
      })
      .returning({ expiresAt: logins.expiresAt });
    await appendLedger(tx, [
      {
        type: 'token.created',
        level: 'warning',
        message: `A token was created for ${user.email}`,
        actor,
        userId: user.id,
        data: { login_id: loginId, label: input.label ?? null, expires_at: login?.expiresAt.toISOString() ?? null },
      },
    ]);
    return {
      token,
      expires_at: login?.expiresAt.toISOString() ?? '',
      user: { email: user.email, name: user.name, groups: user.groups },
    };
  });
}

/**
 * Returns the person of an address: as the trusted provider describes them, otherwise as operators did before. Creates a person who has not
 * signed in yet, with the operator's data alone; their first sign-in is linked to this person.
 */
async function chooseIdentity(
  ctx: Store,
  tx: Transaction,
  email: string,
  groups: string[] | undefined,
): Promise<Person> {
  // Takes turns with sign-ins: a concurrent sign-in would not see this person, and its own person would not be seen
  // here.
  await tx.execute(sql`lock table ${userIdentities} in share row exclusive mode`);
  const latest = desc(userIdentities.updatedAt);
  const same = await identitiesWith(tx, email);
  const awaited = same.find(({ provider }) => provider === operatorProvider);
  const theirs = awaited
    ? await tx.select().from(userIdentities).where(eq(userIdentities.userId, awaited.userId)).orderBy(latest)
    : [];
  const signedIn =
    same.find(({ provider }) => isTrusted(ctx, provider, email)) ??
    theirs.find(({ provider }) => provider !== operatorProvider);
  if (signedIn) {
    const person = asPerson(ctx, toPerson(signedIn));
    // Naming the groups that the provider returns changes nothing, so that one command line works before and after a
    // sign-in.
    const asGiven =
      groups?.every((group) => person.groups.includes(group)) && person.groups.every((group) => groups.includes(group));
    if (groups?.length && !asGiven) {
      throw invalid('groups', `come from "${signedIn.provider}" for ${signedIn.email}; leave them out`);
    }
    return person;
  }
  return upsertUser(tx, {
    id: ctx.newId(),
    provider: operatorProvider,
    subject: email,
    email,
    name: awaited?.name ?? email,
    groups: groups ?? awaited?.groups ?? [],
  });
}
