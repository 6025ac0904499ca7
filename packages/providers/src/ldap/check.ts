import { Terminal } from '../errors.js';
import { dialectOf, type LdapConfig } from './config.js';
import type { Session } from './session.js';
import { findGroup, idOf, readTarget } from './subject.js';

/** Reads all that the connector needs to read. Throws `Terminal` with the setting or the permission that is missing. */
export async function check(session: Session, config: LdapConfig): Promise<void> {
  await readTarget(session, config);
  for (const key of ['people_base', 'groups_base'] as const) {
    const entry = await session.read(config[key], [dialectOf(config).id]);
    if (!entry) throw new Terminal(`${key} does not exist, or the connector's account cannot read it`);
    if (!idOf(entry, config)) {
      throw new Terminal(`The connector's account cannot read ${dialectOf(config).id} below ${key}`);
    }
  }
  await session.find(config.people_base, { filter: dialectOf(config).people }, ['1.1'], 1);
  for (const name of config.exclusive) {
    if (!(await findGroup(session, config, name))) throw new Terminal('exclusive: a group of this list does not exist');
  }
}
