import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { testPolicies } from '../src/policy/test-policies.js';

const organisations = fileURLToPath(new URL('../../../examples/organisations/', import.meta.url));

const names = await readdir(organisations);

describe('the organisations of the examples', () => {
  it.each(names)('%s holds its cases, with no variable set', async (name) => {
    const path = join(organisations, name);
    const tested = await testPolicies(path, undefined, {});
    const failed = tested.ok ? tested.results.filter(({ ok }) => !ok) : tested.messages;
    expect(failed).toEqual([]);
    expect(tested).toMatchObject({ ok: true, untested: [] });
  });
});

describe('testPolicies', () => {
  const folders: string[] = [];
  afterEach(async () => {
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
  });

  /** Runs one policy case with a workflow of these tasks. */
  async function play(tasks: string, one: string, roles = '') {
    const folder = await mkdtemp(join(tmpdir(), 'belay-policy-'));
    folders.push(folder);
    await writeFile(join(folder, 'belay.yaml'), configuration(tasks, roles));
    const cases = `cases:\n  - name: a case\n    person: { email: rita@example.com, groups: [engineers] }\n${one}`;
    await writeFile(join(folder, 'a.policy-test.yaml'), cases);
    return testPolicies(folder, undefined, {});
  }
  async function playOne(tasks: string, one: string, roles = '') {
    const tested = await play(tasks, one, roles);
    if (!tested.ok) throw new Error(tested.messages.join('\n'));
    return tested.results[0];
  }
  const request = (more = '') => `    request: { role: reader, reason: a test${more} }\n`;
  const granted = '    expect: { result: granted }\n';

  it('does not call a workflow granted that calls something the case does not answer', async () => {
    const tasks = `
        - check: { call: http, with: { method: get, endpoint: "https://on-call.example.com" } }
        - grant: { call: access.grant }`;
    expect(await playOne(tasks, request() + granted)).toMatchObject({
      ok: false,
      result: 'unknown',
      because: expect.stringContaining('the task "check" calls http: say what it returns'),
    });
    const answered = `${request()}    answers: { check: { returns: { on_call: true } } }\n${granted}`;
    expect(await playOne(tasks, answered)).toMatchObject({ ok: true });
  });

  it('knows no time that the case does not name', async () => {
    const tasks = `
        - night: { if: '\${ $workflow.startedAt.iso8601 | test("T2") }', raise: { error: { type: "https://example.com/night", status: 403, title: At night } } }
        - grant: { call: access.grant }`;
    expect(await playOne(tasks, request() + granted)).toMatchObject({ result: 'unknown' });
    expect(await playOne(tasks, `    at: "2026-01-05T10:00:00Z"\n${request()}${granted}`)).toMatchObject({ ok: true });
    const late = `    at: "2026-01-05T22:00:00Z"\n${request()}    expect: { result: failed, message: At night }\n`;
    expect(await playOne(tasks, late)).toMatchObject({ ok: true });
  });

  it('does not guess who decided, nor whom a provider would grant to', async () => {
    const byCount = `
        - approve: { call: access.approve, with: { stages: [{ approvers: { groups: [leads] } }] } }
        - enough: { if: '\${ (.decisions | length) == 1 }', call: access.grant }`;
    expect(await playOne(byCount, request() + granted)).toMatchObject({ result: 'unknown' });
    const named = `${request()}    answers: { approve: { by: [lea@example.com] } }\n${granted}`;
    expect(await playOne(byCount, named)).toMatchObject({ ok: true });
    const byGrants = `
        - validate: { call: access.validate }
        - one: { if: '\${ (.grants | length) == 1 }', call: access.grant }`;
    expect(await playOne(byGrants, request() + granted)).toMatchObject({ result: 'unknown' });
  });

  it('says unknown for events and for workflows without an end', async () => {
    const waits = `
        - wait: { metadata: { from: { requester: true } }, listen: { to: { one: { with: { type: com.example.go } } } } }
        - grant: { call: access.grant }`;
    expect(await playOne(waits, request() + granted)).toMatchObject({ result: 'unknown' });
    const endless = `
        - again: { set: { n: 1 } }
        - pause: { wait: PT1S, then: again }`;
    expect(await playOne(endless, request() + granted)).toMatchObject({
      result: 'unknown',
      because: 'the workflow does not end within 1000 steps',
    });
    // Tasks that do not wait have a limit of their own.
    const busy = `
        - one: { set: { n: 1 } }
        - two: { set: { n: 2 }, then: one }`;
    expect(await playOne(busy, request() + granted)).toMatchObject({
      result: 'unknown',
      because: 'the workflow does not end within 10000 tasks',
    });
  });

  it('fails expressions as a server does', async () => {
    const endless = `\n        - grant: { if: '\${ def f: f; f }', call: access.grant }`;
    expect(await playOne(endless, request() + granted)).toMatchObject({ ok: false, result: 'failed' });
  });

  it('counts only the approvals that a server would count', async () => {
    const own = `
        - approve: { call: access.approve, with: { stages: [{ approvers: { users: [RITA@example.com] } }] } }
        - grant: { call: access.grant }`;
    const denied = '    expect: { result: denied }\n';
    expect(await playOne(own, request() + denied)).toMatchObject({ ok: true, grants: [] });
    const two = `
        - approve: { call: access.approve, with: { stages: [{ approvers: { users: [ada@example.com, ben@example.com] }, count: 2 }] } }
        - grant: { call: access.grant }`;
    const twice = `${request()}    answers: { approve: { by: [ada@example.com, ADA@example.com] } }\n${denied}`;
    expect(await playOne(two, twice)).toMatchObject({ ok: true, because: 'approve: 1 of 2 approvals' });
    const stranger = `${request()}    answers: { approve: { by: [ada@example.com, eve@example.com] } }\n${denied}`;
    expect(await playOne(two, stranger)).toMatchObject({
      ok: true,
      because: 'approve: eve@example.com may not decide',
    });
  });

  it('does not grant past a denial that the workflow ignores, nor on an approval that has lapsed', async () => {
    const ignores = `
        - approve: { call: access.approve, with: { stages: [{ approvers: { groups: [leads] } }] } }
        - grant: { call: access.grant }`;
    const denied = `${request()}    answers: { approve: denied }\n    expect: { result: denied }\n`;
    expect(await playOne(ignores, denied)).toMatchObject({ ok: true, grants: [] });
    const slow = `
        - approve: { call: access.approve, with: { stages: [{ approvers: { groups: [leads] } }] } }
        - wait: { wait: PT9H }
        - grant: { call: access.grant }`;
    expect(await playOne(slow, request() + granted)).toMatchObject({
      result: 'unknown',
      because: expect.stringContaining('expired'),
    });
  });

  it('says of access that a fault ends again that it was granted', async () => {
    const tasks = `
        - grant: { call: access.grant }
        - approve: { call: access.approve, with: { stages: [{ approvers: { groups: [leads] } }] } }
        - no: { raise: { error: { type: "https://example.com/no", status: 403, title: No } } }`;
    const denied = `${request()}    answers: { approve: denied }\n    expect: { result: denied }\n`;
    expect(await playOne(tasks, denied)).toMatchObject({ ok: false, result: 'granted' });
  });

  it('follows the time limits of tasks', async () => {
    const tasks = `
        - approve:
            call: access.approve
            with: { stages: [{ approvers: { groups: [leads] }, timeout: PT8H }] }
            timeout: { after: PT1H }
        - grant: { call: access.grant }`;
    const late = `${request()}    answers: { approve: expired }\n    expect: { result: denied }\n`;
    expect(await playOne(tasks, late)).toMatchObject({ ok: true, grants: [] });
  });

  it('names a role that is disabled or gone, and roles without a case', async () => {
    const grant = '\n        - grant: { call: access.grant }';
    const gone = `    request: { role: writer, reason: a test }\n    expect: { result: rejected }\n`;
    expect(await play(grant, gone)).toMatchObject({ results: [{ ok: true }], untested: ['reader'] });
  });

  it.each([
    ['    request: { role: reader }\n    expect: { result: maybe }\n', 'cases[0].expect.result'],
    ['    request: { role: reader, grant: all }\n    expect: { result: granted }\n', 'cases[0].request'],
    ['    request: { role: reader }\n    expects: { result: granted }\n', 'cases[0]'],
  ])('rejects a case that it does not understand: %s', async (one, path) => {
    const tested = await play('\n        - grant: { call: access.grant }', one);
    const messages = tested.ok ? [] : tested.messages;
    expect(messages.at(-1)).toMatch(/a\.policy-test\.yaml:\d+:\d+: /);
    expect(messages.at(-1)).toContain(path);
  });
});

function configuration(tasks: string, roles: string): string {
  return `
providers:
  login:
    provider: oidc
    config: { issuer: https://id.example.com, client_id: belay, client_secret: test }
    groups: { allow: [engineers, leads] }
  database:
    provider: postgres
    config: { url: "postgres://belay@database.example.com/app", identity: username, email_domains: [example.com] }
roles:
  reader:
    providers: [database]
    inherits: ['database:app_read']
    permissions: { groups: [engineers] }
    workflows: [tried]
${roles}
workflows:
  tried:
    workflow:
      document: { dsl: '1.0.3', namespace: test, name: tried, version: 1.0.0 }
      do:${tasks}
`;
}
