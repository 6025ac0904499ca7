import { AccessError } from '@belay/contract/errors';
import { rotateEncryptionKey } from '@belay/core';
import { openWrapping } from './open-keyring.js';
import { type OperatorOptions, openOperatorContext } from './operator.js';
import { openReferences } from './services.js';

/**
 * Creates a new key in the database of this installation, wrapped by the service of the configuration in force, and
 * retires the current key (`belay encryption rotate`). Throws `not_configured` for the local keyring, which is rotated
 * by its variables, `unavailable` when the service cannot wrap the key, and `StartError`.
 */
export async function rotateEncryption(
  options: OperatorOptions & { variables: Record<string, string | undefined> },
): Promise<{ kid: string; retired: string | undefined; created_at: string }> {
  const { environment, variables } = options;
  const { context, close } = await openOperatorContext(options);
  const references = openReferences({ environment, variables });
  try {
    const inForce = await context.db.query.catalogs.findFirst({
      columns: { document: true },
      orderBy: (catalogs, { desc }) => [desc(catalogs.version)],
    });
    const document = (inForce?.document ?? {}) as Parameters<typeof openWrapping>[0];
    const wrapping = await openWrapping(document, await references.follow(document));
    if (!wrapping) {
      throw new AccessError(
        'not_configured',
        'The local keyring has no separate key: set BELAY_SECRET to a new secret and BELAY_SECRET_PREVIOUS to the old one, and restart',
      );
    }
    try {
      return await rotateEncryptionKey(context, { wrapping });
    } finally {
      await wrapping.service.close();
    }
  } finally {
    await references.close();
    await close();
  }
}
