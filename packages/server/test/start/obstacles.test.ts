import { createTestDatabase } from '@belay/testkit/database';
import { expect, it } from 'vitest';
import { makeFolder, startHere } from './server-process.js';

const configuration = `
version: 1
providers:
  ledger: { provider: postgres, config: { url: "\${env:LEDGER_URL}", identity: email } }
  away: { provider: postgres, config: { url: "postgres://belay:x@127.0.0.1:9/none", identity: email } }
roles:
  bookkeeper: { providers: [ledger], inherits: ["ledger:no_such_role"], workflows: [at-once] }
  traveller: { providers: [away], inherits: ["away:some_role"], workflows: [at-once] }
workflows:
  at-once:
    workflow:
      document: { dsl: 1.0.3, namespace: test, name: at-once, version: 1.0.0 }
      do: [{ grant: { call: access.grant } }]
`;

it('names in the log of a start the roles that a provider would not grant, and is ready without waiting for any provider', async () => {
  await using database = await createTestDatabase();
  await using folder = await makeFolder({ 'belay.yaml': configuration });
  const { url } = database;
  await using server = startHere(folder.path, {
    DATABASE_URL: url,
    LEDGER_URL: url,
    BELAY_SECRET: 'a secret for tests that is long enough',
  });
  await server.says('is ready at');
  await server.says('would not grant bookkeeper: ');
  const address = /is ready at (\S+)/.exec(server.stdout())?.[1] ?? '';
  const { services } = (await (await fetch(`${address}/health`)).json()) as { services: Record<string, string> };
  expect(services.workflow_engine).toContain('1 providers would not grant roles of the configuration');
  expect(JSON.stringify(services)).not.toContain('bookkeeper');
  expect(await server.stop()).toBe(0);
});
