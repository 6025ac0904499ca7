import * as vitest from 'vitest';
import { authenticatorConformance } from '../../src/testkit/index.js';
import { createCertified } from '../support/certified.js';
import { openCorp, redirectUri, rita } from './support.js';

authenticatorConformance(vitest, 'saml', async () => {
  const own = createCertified('belay.example.test');
  const signing = { private_key: own.privateKey, certificate: own.certificate };
  const corp = await openCorp({ wantsSigned: true }, { request_signing: signing });
  return {
    authenticator: corp.authenticator,
    redirectUri,
    secrets: [own.privateKey],
    binds: ['nonce'],
    async answer(address) {
      const { SAMLResponse, RelayState } = await corp.idp.answer(address, corp.metadata, rita);
      const url = new URL(redirectUri);
      url.search = new URLSearchParams({ SAMLResponse, state: RelayState }).toString();
      return url;
    },
    close: async () => {},
  };
});
