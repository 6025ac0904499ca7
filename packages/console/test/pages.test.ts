import { serverRouter } from '@belay/api';
import { describeApi } from '@belay/api/openapi';
import { describe, expect, it } from 'vitest';
import { whoDecides } from '../src/pages/approvers.js';
import { devicePage } from '../src/pages/device.js';
import { Diagram } from '../src/pages/diagram.js';
import { dynamicPage } from '../src/pages/dynamic.js';
import { type ExecutionSummary, executionsPage } from '../src/pages/executions.js';
import { renderPage } from '../src/pages/page.js';
import { readable } from '../src/pages/readable.js';
import { referencePage } from '../src/pages/reference.js';
import { searchPage } from '../src/pages/search.js';
import { suggestionPage } from '../src/pages/suggest.js';
import type { View } from '../src/pages/view.js';
import * as words from '../src/pages/words.js';
import * as browserWords from '../src/static/words.js';

const view: View = {
  basePath: '/api/v1',
  path: '/api/v1/home',
  input: {},
  now: new Date('2026-01-02T03:04:05.678Z'),
  viewer: { name: '<b>Rita</b>', email: 'rita@example.test' },
  waiting: 0,
  oversight: null,
  offers: () => true,
  csrf: (action) => `token for ${action}`,
  shownTo: (action) => `viewer of ${action}`,
  once: () => 'good-once',
};

describe('words', () => {
  it('are the same on the server and in the browser, which takes them over', () => {
    const moments = [0, 1, 44, 45, 59, 60, 89, 90, 3599, 3600, 5399, 5400, 86_399, 86_400, 129_600, 900_000];
    for (const seconds of moments.flatMap((each) => [each, -each])) {
      const milliseconds = seconds * 1000;
      const { leftInWords, relativeInWords } = browserWords as typeof words;
      expect([seconds, leftInWords(milliseconds)]).toEqual([seconds, words.leftInWords(milliseconds)]);
      expect([seconds, relativeInWords(milliseconds)]).toEqual([seconds, words.relativeInWords(milliseconds)]);
    }
    expect(words.leftInWords(899_999)).toBe('14 min 59 s left');
    expect(words.relativeInWords(-120_000)).toBe('2 minutes ago');
  });

  it('say durations and moments as people do, and leave alone what they cannot read', () => {
    expect(words.durationInWords('PT1H30M')).toBe('1 hour 30 minutes');
    expect(words.durationInWords('P1DT1S')).toBe('1 day 1 second');
    expect(words.durationInWords('soon')).toBe('soon');
    expect(words.momentInWords('2026-01-02T03:04:05.678Z')).toBe('2 Jan 2026, 03:04:05 UTC');
    expect(readable('requests Pipes for PT15M: until 2026-01-02T03:04:05.678Z')).toBe(
      'requests Pipes for 15 minutes: until 2 Jan 2026, 03:04:05 UTC',
    );
  });
});

const approve = (stage: object) => ({ call: 'access.approve', with: { stages: [stage] } });

describe('the search', () => {
  const execution = {
    workflow_id: 'e-1',
    role: 'reader',
    reason: 'a ticket',
    state: 'active',
    user: 'rita@example.test',
  };
  const shown = (q: string, more: object = {}, state = 'active') => {
    const executions = [{ ...execution, ...more, state }] as unknown as ExecutionSummary[];
    const page = renderPage(
      searchPage({ roles: {}, executions, people: [] }, { ...view, waiting: 2, input: { q } }),
      view,
    );
    return [...page.matchAll(/<a href="([^"]*)"[^>]*>(?:(?!<\/a>).)*?<span class="truncate">([^<]*)/g)].map(
      ([, href, text]) => `${text} ${href}`,
    );
  };

  it('finds what can be done now, where it is done', () => {
    expect(shown('give back')).toEqual(['Give back reader /requests/e-1#give-back']);
    expect(shown('extend ticket')).toEqual(['Extend reader /requests/e-1#extend-for']);
    expect(shown('decide')).toEqual(['Decide requests that wait for you (2) /inbox#opened-head']);
  });

  it('offers nothing to do with access of others, or that is not held', () => {
    expect(shown('give back', { user: 'adam@example.test' })).toEqual([]);
    expect(shown('give back', {}, 'waiting_for_approval')).toEqual([]);
  });
});

describe('the reference', () => {
  it('shows every form that an answer can have', () => {
    const document = describeApi(serverRouter, { baseUrl: 'http://x', basePath: '/api/v1', version: '1.0.0' });
    const page = renderPage(referencePage(document, '/api/v1'), view);
    const card = (start: string, end: string) => {
      const from = page.indexOf(start);
      expect(from, start).toBeGreaterThan(0);
      return page.slice(from, page.indexOf(end, from));
    };
    const operation = card('/auth/device/token</code>', '</details>');
    expect(operation).toContain('href="#shape-PolledDeviceLogin"');
    expect(operation).toContain('&quot;device_code&quot;: &quot;');
    const shape = card('id="shape-PolledDeviceLogin"', '<h3 ');
    for (const field of ['status', 'interval', 'expires_at', 'session', 'user'])
      expect(shape).toContain(`<code>${field}<`);
    // Every link leads to a shape on the page.
    const targets = new Set([...page.matchAll(/id="(shape-\w+)"/g)].map(([, id]) => id));
    const links = [...page.matchAll(/href="#(shape-\w+)"/g)].map(([, id]) => id);
    expect(links.length).toBeGreaterThan(100);
    expect(links.filter((link) => !targets.has(link))).toEqual([]);
  });
});

describe('a moment in a page', () => {
  it('is told in words wherever it comes from', () => {
    const execution = {
      workflow_id: 'x',
      status: 'waiting',
      user: 'rita@example.test',
      role: 'reader',
      providers: ['store'],
      reason: '',
      start_time: '2026-01-02T03:00:00.000Z',
      requested_at: '2026-01-02T03:00:00.000Z',
      ended_at: null,
      decided_by: [],
      waiting_for: ['the end of the access at 2026-01-02T03:04:05.678Z'],
    } as unknown as ExecutionSummary;
    const list = renderPage(executionsPage({ executions: [execution], next: null }, { oversees: false }, view), view);
    expect(list).toContain('Waiting for the end of the access at 2 Jan 2026, 03:04:05 UTC');
    const request = {
      user_code: 'FCZL-GBTP',
      label: 'build-3',
      asked_at: '2026-01-02T03:04:00.000Z',
      expires_at: '2026-01-02T03:14:00.000Z',
    };
    expect(renderPage(devicePage({ request }, view), view)).toContain('2 Jan 2026, 03:04:00 UTC');
  });
});

describe('who decides', () => {
  it('is read from the approvals of a workflow, however deep they are', () => {
    const table: [unknown[], string][] = [
      [
        [{ ask: approve({ approvers: { groups: ['dba'] }, timeout: 'PT1H' }) }],
        'One person of the group dba, within 1 hour',
      ],
      [[{ ask: approve({ approvers: { users: ['a@b.test'] } }) }], 'a@b.test'],
      [
        [{ outer: { try: [{ ask: approve({ approvers: { users: ['a@b.test'], groups: ['dba'] }, count: 2 }) }] } }],
        '2 people of a@b.test or the group dba',
      ],
      [
        [{ both: { fork: { branches: [{ one: approve({ approvers: { groups: ['x'] } }) }] } } }],
        'One person of the group x',
      ],
      [
        [{ ask: approve({ approvers: { groups: ['${ .group }'] } }) }],
        'Approvers that the workflow selects when it runs',
      ],
      [[{ grant: { call: 'access.grant' } }], 'No approval required'],
    ];
    for (const [tasks, expected] of table) expect(whoDecides(tasks)).toBe(expected);
  });
});

describe('the picture of a workflow', () => {
  it('shows every task with what it does and where it goes, escaped', () => {
    const tasks = [
      { look: { call: 'http', with: { method: 'get', endpoint: 'https://a.test/<script>' } } },
      { choose: { switch: [{ yes: { when: '${ .ok }', then: 'apart' } }, { no: { then: 'end' } }] } },
      { apart: { fork: { branches: [{ left: { wait: 'PT5M' } }, { right: { set: { a: 1 } } }] } } },
      { safe: { try: [{ inner: { call: 'access.grant' } }], catch: { do: [{ tell: { emit: {} } }] } } },
    ];
    const markup = renderPage({ title: 'Picture', content: Diagram({ tasks }) }, view);
    for (const text of ['look', 'choose', 'apart', 'left', 'right', 'safe', 'inner', 'tell', 'Wait 5 minutes', '.ok']) {
      expect(markup).toContain(text);
    }
    expect(markup).toContain('href="#task-apart"');
    expect(markup).toContain('id="task-apart"');
    expect(markup).toContain('GET https://a.test/&lt;script');
    expect(markup).toContain('&lt;b>Rita');
    // The page's only scripts are its own assets.
    const ours = /<script type="module" src="\/api\/v1\/assets\/[a-z]+\.js\?v=[\w-]+"><\/script>/g;
    expect(markup.replaceAll(ours, '')).not.toMatch(/<script|style=|\son\w+=/);
  });

  it('renders malformed definitions', () => {
    for (const tasks of [[], [null], ['x'], [{ a: 1 }], [{ a: { switch: 'x', fork: 1, catch: 2, then: 'a' } }]]) {
      expect(renderPage({ title: 'Odd', content: Diagram({ tasks }) }, view)).toContain(
        '<span class="node end">End</span>',
      );
    }
  });
});

describe('a suggestion', () => {
  const role = {
    name: 'reader',
    description: 'Read the store',
    providers: ['store', 'archive'],
    workflows: ['approve-and-grant'],
    enabled: true,
    max_duration: 'PT1H',
    default_duration: 'PT15M',
    reason: { required: true },
    inherits: [],
    grants: [],
  };
  const output = {
    suggested_role: 'reader',
    suggested_duration: 'PT20M',
    suggested_providers: ['archive'],
    workflow_id: 'approve-and-grant',
    matched: ['read'],
    engine: 'lexical' as const,
    alternatives: [
      {
        suggested_role: 'writer',
        suggested_duration: 'PT5M',
        suggested_providers: [],
        workflow_id: 'approve-and-grant',
      },
    ],
  };

  it('is a form with changeable preset values, and requests nothing by itself', () => {
    const input = { reason: 'read "it" for 20 minutes </textarea><script>' };
    const workflows = new Map([['approve-and-grant', { document: { do: [] } } as never]]);
    const page = suggestionPage({ status: 'suggested', output }, { role, workflows }, { ...view, input });
    const markup = renderPage(page, view);
    expect(markup).toContain('Nothing has been requested yet');
    expect(markup).toMatch(/<form method="post" action="\/api\/v1\/elevate">/);
    expect(markup).toMatch(/<option value="PT20M" selected>20 minutes/);
    expect(markup).toMatch(/<option value="archive" selected>/);
    expect(markup).toContain('href="/roles/writer"');
    expect(markup).not.toContain('</textarea><script>');
  });

  it('without a match says so and keeps the text', () => {
    const none = { status: 'no_match' as const, output: { ...output, suggested_role: '', alternatives: [] } };
    const found = { role: undefined, workflows: new Map() };
    const markup = renderPage(suggestionPage(none, found, { ...view, input: { reason: 'tea' } }), view);
    expect(markup).toContain('No matching role');
    expect(markup).toMatch(/<textarea[^>]*>tea<\/textarea>/);
    expect(markup).not.toContain('action="/api/v1/elevate"');
  });
});

describe('the form of a request without a role', () => {
  const rules = (...allow: string[]) => ({ allow, deny: ['never'] });
  const bound = (provider: string, more: object = {}) => ({
    provider,
    name: `The <${provider}>`,
    permissions: rules('a.*'),
    resources: rules(),
    groups: rules('g'),
    workflows: ['approve'],
    max_duration: 'PT1H',
    default_duration: 'PT15M',
    for_others: false,
    ...more,
  });

  it('has fields for systems and recipients where they apply, and keeps the values of a rejected form', () => {
    const bounds = [bound('one', { for_others: true }), bound('two', { workflows: ['approve', 'quick'] })];
    const first = renderPage(dynamicPage({ bounds }, view), view);
    expect(first.match(/type="checkbox"/g)).toHaveLength(2);
    expect(first).toContain('The &lt;one');
    for (const name of ['permissions', 'groups', 'users', 'reason', 'duration', 'workflow']) {
      expect(first).toContain(`name="${name}"`);
    }
    expect(first).not.toContain('name="resources"');
    expect(first).not.toContain('role="alert"');
    const refused = {
      message: 'no',
      code: 'FORBIDDEN',
      issues: [{ path: 'identities', message: 'names another person' }],
    };
    const input = { providers: ['two'], users: ['eve@x.test'], workflow: 'quick' };
    const again = renderPage(dynamicPage({ bounds }, { ...view, input, refused }), view);
    expect(again).toMatch(/value="two" checked/);
    expect(again).not.toMatch(/value="one" checked/);
    expect(again).toMatch(/<option value="quick" selected/);
    expect(again).toMatch(/<a href="#users">Recipients<\/a>: names another person/);
    expect(again).toMatch(/id="users"[^>]*aria-invalid="true"[^>]*value="eve@x.test"/);
  });
});
