import { foldAddress } from '@belay/contract/address';
import { z } from 'zod';

/** Returns the schema of a table from e-mail addresses to a system's accounts: no address in it twice, in any spelling. */
export function addressTable<T extends z.ZodType>(account: T) {
  return z.record(z.string(), account).superRefine((people, context) => {
    const seen = new Set<string>();
    for (const address of Object.keys(people)) {
      const folded = foldAddress(address);
      const message =
        folded === undefined
          ? 'is not an e-mail address in canonical form, for example rita@example.com'
          : 'contains the same e-mail address twice';
      if (folded === undefined || seen.has(folded)) context.addIssue({ code: 'custom', path: [address], message });
      else seen.add(folded);
    }
  });
}
