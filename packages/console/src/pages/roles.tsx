import type { VNode } from 'preact';
import { texts } from '../texts.js';
import { whoDecides } from './approvers.js';
import { AccessWords, ProviderLink } from './parts/access.js';
import { Facts } from './parts/facts.js';
import { type Outputs, type Page, to, type View } from './view.js';
import { durationInWords } from './words.js';

export type RoleDetails = Outputs['roles']['get'];
/** The definitions that the viewer can see, by the name of their workflow. */
export type Workflows = ReadonlyMap<string, Outputs['workflows']['get']>;

/** Renders the roles that the viewer can request. */
export function rolesPage(
  { roles }: Outputs['roles']['list'],
  { workflows, mayPutTogether }: { workflows: Workflows; mayPutTogether: boolean },
  view: View,
): Page {
  const entries = Object.entries(roles);
  return {
    title: texts.roles.title,
    content: (
      <>
        <p class="lead">{texts.roles.lead}</p>
        {view.offers('elevation.suggest') && (
          <p>
            <a href={`${view.basePath}/elevate/llm`}>{texts.roles.describeNeed}</a>
            {texts.roles.getSuggestion}
          </p>
        )}
        {mayPutTogether && (
          <p>
            {texts.roles.noMatch}
            <a href={`${view.basePath}/elevate/dynamic`}>{texts.roles.customRequest}</a>.
          </p>
        )}
        {entries.length === 0 ? (
          <div class="empty">
            <p>{texts.roles.empty}</p>
          </div>
        ) : (
          <ul class="cards two">
            {entries.map(([name, { role }]) => (
              <li key={name} class="card">
                <h2>
                  <a href={to(view, 'role', name)}>{name}</a>
                </h2>
                {role.description !== '' && <p>{role.description}</p>}
                <Facts facts={[permitted(role, view), decided(role, workflows), held(role)]} />
                <a class="button" href={to(view, 'role', name)} aria-label={texts.roles.requestRole(name)}>
                  {texts.roles.requestAccess}
                </a>
              </li>
            ))}
          </ul>
        )}
      </>
    ),
  };
}

export function permitted(role: RoleDetails, view: View): [string, VNode] {
  return [
    texts.roles.access,
    <ul>
      {role.grants.length === 0 && <li>{texts.roles.noAccess}</li>}
      {role.grants.map(({ provider, access }) => (
        <li key={`${provider} ${JSON.stringify(access)}`} class="sentence">
          <AccessWords access={access} />
          {texts.roles.at}
          <ProviderLink id={provider} view={view} />
        </li>
      ))}
    </ul>,
  ];
}

export function decided(role: RoleDetails, workflows: Workflows): [string, string] | undefined {
  const first = workflows.get(role.workflows[0] ?? '');
  return first === undefined ? undefined : [texts.roles.approvers, whoDecides(first.document.do)];
}

export function held(role: RoleDetails): [string, string] {
  const most = durationInWords(role.max_duration);
  const usual = durationInWords(role.default_duration);
  return [texts.roles.duration, most === usual ? most : texts.roles.usualAndMost(usual, most)];
}
