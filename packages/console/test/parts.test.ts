import { h, type VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { describe, expect, it } from 'vitest';
import { Close, Dialog } from '../src/pages/parts/dialog.js';
import { addressWith, Paging, Row, Tabs } from '../src/pages/parts/list.js';
import { initialsOf, Person, tintOf } from '../src/pages/parts/people.js';
import { System } from '../src/pages/parts/system.js';
import { Ago, Moment, TimeBar } from '../src/pages/parts/time.js';
import type { View } from '../src/pages/view.js';
import { at, documentedPath } from '../src/paths.js';

const view = { now: new Date('2026-01-02T03:04:05.000Z') } as View;
const render = <Props>(node: VNode<Props>) => renderToString(node as VNode);

describe('a short address', () => {
  it('stands for a documented path, with what follows it, and nothing else does', () => {
    expect(documentedPath('/requests')).toBe('/executions');
    expect(documentedPath('/requests/a%2Fb/cancel')).toBe('/execution/a%2Fb/cancel');
    expect(documentedPath('/roles/reader')).toBe('/role/reader');
    for (const other of ['/', '/executions', '/api/v1/roles', '/constructor', '/rolesx', '//roles', ''])
      expect([other, documentedPath(other)]).toEqual([other, undefined]);
  });

  it('is made with each part escaped', () => {
    expect(at('roles', 'a/b?c')).toBe('/roles/a%2Fb%3Fc');
  });

  it('has only the filters that are set', () => {
    expect(addressWith('/requests', { q: 'a b', state: '', person: undefined })).toBe('/requests?q=a+b');
    expect(addressWith('/requests', { q: '' })).toBe('/requests');
  });
});

describe('a person', () => {
  it('has the initials of the first and the last name, or of an address', () => {
    expect(['Rita Requester', 'rita.requester@example.test', 'Ádám', 'a b c', ''].map(initialsOf)).toEqual([
      'RR',
      'rr',
      'Á',
      'ac',
      '',
    ]);
    expect(tintOf('Rita')).toBe(tintOf('Rita'));
    expect(render(h(Person, { name: '<Rita>' }))).toContain('&lt;Rita>');
  });
});

describe('a system', () => {
  it('has a sign that screen readers skip, and its name', () => {
    const markup = render(h(System, { name: 'Reporting', type: 'postgres' }));
    expect(markup).toMatch(/aria-hidden="true"><svg .*<\/svg><\/span>Reporting/);
  });
});

describe('a row', () => {
  it('is one link to what it is about, with its state beside it', () => {
    const markup = render(h(Row, { href: '/roles/reader', title: 'reader', sub: 'Reads', current: true }, 'Active'));
    expect(markup).toContain('<a href="/roles/reader" aria-current="true">reader</a>');
    expect(markup).toContain('<span class="row-side">Active</span>');
  });
});

describe('tabs and paging', () => {
  it('name the view that is shown, and lead only to pages that exist', () => {
    const tabs = [
      { href: '/a', text: 'Open', current: true, count: 3 },
      { href: '/b', text: 'Past', current: false },
    ];
    const markup = render(h(Tabs, { label: 'Requests', tabs }));
    expect(markup).toContain('<a href="/a" aria-current="page">Open<span class="quiet">3</span></a>');
    expect(Paging({})).toBeNull();
    const paging = render(h(Paging, { older: '/b' }));
    expect(paging).toContain('rel="next"');
    expect(paging).not.toContain('rel="prev"');
  });
});

describe('a time', () => {
  it('is UTC in the markup, and says how long ago it was', () => {
    expect(render(h(Moment, { at: '2026-01-02T03:00:00.000Z' }))).toContain('>2 Jan 2026, 03:00:00 UTC<');
    expect(render(h(Ago, { at: '2026-01-02T03:00:00.000Z', view }))).toContain('>4 minutes ago<');
  });

  it('is a bar that warns when little is left', () => {
    const bar = (until: string) => render(h(TimeBar, { from: '2026-01-02T03:00:00.000Z', until, view }));
    expect(bar('2026-01-02T04:00:00.000Z')).toMatch(/class="bar" max="3600000" value="3355000"/);
    expect(bar('2026-01-02T03:04:20.000Z')).toContain('class="bar short"');
    expect(bar('2026-01-02T03:00:00.000Z')).toContain('value="0"');
  });
});

describe('a dialog', () => {
  it('opens and closes by buttons that need no script', () => {
    const markup = render(
      h(Dialog, { id: 'revoke', opens: 'Revoke', title: 'Revoke access?', children: h(Close, { dialog: 'revoke' }) }),
    );
    expect(markup).toContain('popovertarget="revoke">Revoke<');
    expect(markup).toContain('popovertargetaction="hide"');
    expect(markup).toContain('aria-labelledby="revoke-title"');
  });
});
