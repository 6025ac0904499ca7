import { isSameAddress } from '@belay/contract/address';
import { path } from '../http/client.js';
import { addressesInTable, describeAccount } from '../identity-setting.js';
import { type Identities, mostListed, type ProviderIdentity } from '../port.js';
import { searchIdentities } from '../search-identities.js';
import type { Api } from './api.js';
import { numberOf } from './authorizer.js';
import type { GithubConfig } from './config.js';
import { type Account, accountSchema, type People } from './people.js';

const loginPattern = /^[a-z0-9][a-z0-9_-]{0,80}$/i;

/** Maps people to GitHub accounts by GitHub's number, because logins can be renamed and used again. */
export function createIdentities({ identity }: GithubConfig, api: Api, people: People): Identities {
  const table = 'table' in identity ? Object.entries(identity.table) : [];

  const present = ({ id, login }: Account): ProviderIdentity => {
    const configured = addressesInTable<number>(identity, (user) => user === id);
    const account = { id: String(id), name: login, email: configured[0] ?? '' };
    return describeAccount(account, { configured, identity, subject: account.id });
  };

  async function read(user: number | undefined, signal: AbortSignal): Promise<ProviderIdentity | null> {
    const account = user === undefined ? null : await people.read(user, signal);
    return account && present(account);
  }

  async function list(signal: AbortSignal): Promise<ProviderIdentity[]> {
    const { at } = await api.organization(signal);
    const members = (await api.list(`${at}/members`, accountSchema, signal)) ?? [];
    return members.map(present);
  }

  async function findByLogin(login: string, signal: AbortSignal): Promise<ProviderIdentity | null> {
    if (!loginPattern.test(login)) return null;
    const account = await api.find({ method: 'GET', path: path`/users/${login}`, schema: accountSchema }, signal);
    return account && present(account);
  }

  return {
    ...('login' in identity ? { byLogin: true } : {}),
    list: async (signal) => (await list(signal)).slice(0, mostListed),
    get: (id, signal) => read(numberOf(id), signal),
    async search(text, limit, signal) {
      const entry = table.find(([email]) => isSameAddress(email, text));
      const exact = entry ? await read(entry[1], signal) : await findByLogin(text, signal);
      const found = searchIdentities(await list(signal), text, limit);
      return exact ? [exact, ...found.filter(({ id }) => id !== exact.id)].slice(0, limit) : found;
    },
    async find({ email, logins = [] }, signal) {
      if ('table' in identity) return read(table.find(([one]) => isSameAddress(one, email))?.[1], signal);
      const linked = new Set(
        logins.filter(({ provider }) => identity.login.includes(provider)).map((one) => one.subject),
      );
      const [subject] = linked;
      return linked.size === 1 && subject !== undefined ? read(numberOf(subject), signal) : null;
    },
  };
}
