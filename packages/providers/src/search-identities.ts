import { isSameAddress } from '@belay/contract/address';
import type { ProviderIdentity } from './port.js';

/** Implements `Identities.search` over identities that were already read, for systems with few identities. */
export function searchIdentities(
  identities: readonly ProviderIdentity[],
  text: string,
  limit: number,
): ProviderIdentity[] {
  const wanted = text.toLowerCase();
  const rankOf = ({ id, name, email }: ProviderIdentity) => {
    if (id === text || isSameAddress(email, text)) return 0;
    const fields = [id, name, email].map((field) => field.toLowerCase());
    if (fields.includes(wanted)) return 1;
    return fields.some((field) => field.includes(wanted)) ? 2 : 3;
  };
  return identities
    .map((identity) => ({ identity, rank: rankOf(identity) }))
    .filter(({ rank }) => rank < 3)
    .sort((one, other) => one.rank - other.rank)
    .slice(0, limit)
    .map(({ identity }) => identity);
}
