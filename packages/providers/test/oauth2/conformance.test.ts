import * as vitest from 'vitest';
import { oauth2Connector } from '../../src/index.js';
import { authenticatorConformance } from '../../src/testkit/index.js';
import { openGitHub } from '../support/github.js';

const redirectUri = 'http://127.0.0.1:8080/api/v1/auth/callback/github';

authenticatorConformance(vitest, 'oauth2', async () => {
  const github = await openGitHub({
    users: [{ login: 'rita', name: 'Rita', email: 'rita@example.test' }],
    redirectUri,
  });
  const open = (more: object) => {
    const config = oauth2Connector.config.parse({ ...github.config, ...more });
    const { authenticator } = oauth2Connector.create(config, { now: Date.now, log: () => {} });
    if (!authenticator) throw new Error('There is nothing to sign in with');
    return authenticator;
  };
  return {
    authenticator: open({}),
    down: open({ token_endpoint: 'http://127.0.0.1:1/token' }),
    redirectUri,
    secrets: [github.config.client_secret],
    // This GitHub does not check the verifier. Tests of the server cover a provider that rejects a wrong one.
    binds: [],
    answer: (url) => github.press(url, 'rita'),
    close: () => github.close(),
  };
});
