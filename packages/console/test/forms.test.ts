import { describe, expect, it } from 'vitest';
import { renderPage } from '../src/pages/page.js';
import { rolePage } from '../src/pages/role.js';
import type { RoleDetails, Workflows } from '../src/pages/roles.js';
import type { View } from '../src/pages/view.js';

const view: View = {
  basePath: '/api/v1',
  path: '/api/v1/role/reader',
  input: {},
  now: new Date('2026-01-02T03:04:05.678Z'),
  viewer: { name: 'Rita', email: 'rita@example.test' },
  waiting: 0,
  oversight: null,
  offers: () => true,
  csrf: () => 'token',
  shownTo: () => 'Rita',
  once: () => 'good-once',
};

const role: RoleDetails = {
  name: 'reader',
  description: '',
  providers: ['store'],
  workflows: ['asks', 'automatic'],
  enabled: true,
  max_duration: 'PT1H',
  default_duration: 'PT15M',
  reason: { required: true },
  inherits: [],
  grants: [],
};

/** Returns the enabled workflows, as a page receives them. */
const workflows = (...names: string[]): Workflows =>
  new Map(names.map((name) => [name, { document: { do: [] } } as never]));

/** Returns the options of one select of the form, in their order, with the selected one; undefined when the select is missing. */
function choices(name: string, of: RoleDetails, enabled: Workflows) {
  const page = renderPage(rolePage(of, { workflows: enabled, starred: false }, view), view);
  const select = new RegExp(`<select[^>]*name="${name}"[^>]*>(.*?)</select>`, 's').exec(page);
  if (select === null) return undefined;
  const options = [...(select[1] ?? '').matchAll(/<option([^>]*)>/g)].map(([, attributes = '']) => ({
    value: /\bvalue(?:="([^"]*)")?/.exec(attributes)?.[1] ?? '',
    selected: /\bselected\b/.test(attributes),
  }));
  return {
    required: /<select[^>]*\brequired\b/.test(select[0]),
    values: options.map(({ value }) => value),
    selected: options.filter(({ selected }) => selected).map(({ value }) => value),
  };
}

describe('the form of a role', () => {
  it('says of a role for emergencies that its use is told', () => {
    const form = (of: RoleDetails) =>
      renderPage(rolePage(of, { workflows: workflows('asks'), starred: false }, view), view);
    expect(form({ ...role, break_glass: true })).toContain('are notified at once');
    expect(form(role)).not.toContain('are notified at once');
  });

  it('selects no system by default when there are several', () => {
    const several = { ...role, providers: ['zebra', 'alpha', 'mid'] };
    expect(choices('providers', several, workflows('asks', 'automatic'))).toEqual({
      required: true,
      values: ['', 'alpha', 'mid', 'zebra', 'zebra,alpha,mid'],
      selected: [],
    });
    expect(choices('providers', role, workflows('asks', 'automatic'))).toBeUndefined();
  });

  it('offers workflows that are enabled, and chooses no other one for one that is disabled', () => {
    expect(choices('workflow', role, workflows('asks', 'automatic'))?.values).toEqual(['asks', 'automatic']);
    expect(choices('workflow', role, workflows('automatic'))).toEqual({
      required: true,
      values: ['', 'automatic'],
      selected: [],
    });
  });

  it('says that a disabled role cannot be requested, and has no form', () => {
    const page = renderPage(rolePage(role, { workflows: workflows(), starred: false }, view), view);
    expect(page).toContain('This role cannot be requested now: asks and automatic are disabled.');
    expect(page).not.toContain('name="reason"');
  });
});
