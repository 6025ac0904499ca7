import { generateKeyPairSync } from 'node:crypto';
import { findFreePort } from '@belay/host';
import { demoPeople } from './people.js';
import type { DemoSettings } from './settings.js';

/** Creates the settings of a first start: free ports for the identity provider and the control, and new secrets. */
export async function makeDemoSettings(randomBytes: (size: number) => Uint8Array): Promise<DemoSettings> {
  const secret = () => Buffer.from(randomBytes(24)).toString('base64url');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = { ...privateKey.export({ format: 'jwk' }), kid: secret(), use: 'sig', alg: 'RS256' };
  return {
    base_url: '',
    issuer: `http://127.0.0.1:${await findFreePort('127.0.0.1')}`,
    people: [],
    control: { url: `http://127.0.0.1:${await findFreePort('127.0.0.1')}`, secret: secret() },
    secrets: {
      client_secret: secret(),
      cookie_key: secret(),
      connector_password: secret(),
      passwords: Object.fromEntries(demoPeople.map((person) => [person.subject, secret()])),
      jwks: { keys: [JSON.parse(JSON.stringify(key))] },
    },
  };
}
