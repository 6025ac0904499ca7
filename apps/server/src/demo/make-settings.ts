import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:net';
import { demoPeople } from './people.js';
import type { DemoSettings } from './settings.js';

/** A port of the loopback interface that nothing listens on now. */
async function findFreePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((listening, failed) => {
    probe.once('error', failed);
    probe.listen(0, '127.0.0.1', listening);
  });
  const address = probe.address();
  await new Promise<void>((closed) => probe.close(() => closed()));
  if (address === null || typeof address === 'string') throw new Error('A listening socket has no port');
  return address.port;
}

/** New settings for a first start: free ports for the identity provider and the control, and every secret made anew. */
export async function makeDemoSettings(randomBytes: (size: number) => Uint8Array): Promise<DemoSettings> {
  const secret = () => Buffer.from(randomBytes(24)).toString('base64url');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = { ...privateKey.export({ format: 'jwk' }), kid: secret(), use: 'sig', alg: 'RS256' };
  return {
    base_url: '',
    issuer: `http://127.0.0.1:${await findFreePort()}`,
    people: [],
    control: { url: `http://127.0.0.1:${await findFreePort()}`, secret: secret() },
    secrets: {
      client_secret: secret(),
      cookie_key: secret(),
      connector_password: secret(),
      passwords: Object.fromEntries(demoPeople.map((person) => [person.subject, secret()])),
      jwks: { keys: [JSON.parse(JSON.stringify(key))] },
    },
  };
}
