import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { programs } from '@belay/targets';
import { approvalCatalog } from '@belay/testkit/house';
import { describe, expect, it } from 'vitest';
import { openDirectory } from './support/directory.js';

/** Runs every check against the server that its environment names, and prints the result of each. */
const script = `
import json, os
from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import check_server

http = Client(base_url=os.environ["SCIM_URL"], headers={"Authorization": "Bearer " + os.environ["SCIM_TOKEN"]})
results = check_server(SyncSCIMClient(http))
print(json.dumps([
  {"status": one.status.name, "title": one.title, "type": one.resource_type, "reason": one.reason} for one in results
]))
`;

interface Result {
  status: string;
  title: string;
  type: string | null;
  reason: string | null;
}

describe('the checks of scim2-tester', () => {
  it('pass on users, groups and the description of the service, except that active cannot be removed', async () => {
    await using directory = await openDirectory({ catalog: approvalCatalog(), time: null });
    const { stdout } = await promisify(execFile)(programs.scim2, ['-c', script], {
      env: { ...process.env, SCIM_URL: directory.url, SCIM_TOKEN: directory.token },
      maxBuffer: 64 * 1024 * 1024,
    });
    const results = JSON.parse(stdout) as Result[];
    const failed = results.filter(({ status }) => !['SUCCESS', 'SKIPPED', 'COMPLIANT', 'ACCEPTABLE'].includes(status));
    // SCIM does not define whether a person without `active` is active, so it cannot be removed.
    expect(failed.map(({ title, type, reason }) => [title, type, reason])).toEqual([
      ['check_remove_attribute', 'User', expect.stringMatching(/'active': active: cannot be removed/)],
    ]);
    expect(results.filter(({ status }) => status === 'SUCCESS').length).toBeGreaterThan(40);
    for (const type of ['User', 'Group']) expect(results.some((one) => one.type === type)).toBe(true);
  });
});
