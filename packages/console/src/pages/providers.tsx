import { limits } from '@belay/contract/limits';
import type { VNode } from 'preact';
import { at } from '../paths.js';
import { texts } from '../texts.js';
import { Facts } from './parts/facts.js';
import { Icon } from './parts/icon.js';
import { Empty, Row } from './parts/list.js';
import { Glyph } from './parts/system.js';
import type { Outputs, Page, View } from './view.js';
import { listInWords } from './words.js';

const capabilities: Readonly<Record<string, string>> = {
  authenticator: texts.providers.authenticator,
  authorizer: texts.providers.authorizer,
  identities: texts.providers.identities,
  notifications: texts.providers.notifications,
};

/** Renders the list of systems. */
export function providersPage({ providers }: Outputs['providers']['list'], _view: View): Page {
  return {
    title: texts.providers.title,
    lead: texts.providers.lead,
    content:
      providers.length === 0 ? (
        <Empty icon="server" title={texts.providers.empty} />
      ) : (
        <ul class="rows">
          {providers.map(({ _id, _source: provider }) => (
            <Row
              key={_id}
              href={at('systems', _id)}
              sign={<Glyph type={`${provider.provider} ${_id}`} />}
              title={provider.name}
              sub={provider.description === '' ? _id : provider.description}
            >
              <span>{usesOf(provider)}</span>
              <Icon name="chevron-right" />
            </Row>
          ))}
        </ul>
      ),
  };
}

/** Renders one system and, where it grants access, its own roles. */
export function providerPage(
  provider: Outputs['providers']['get'],
  roles: Outputs['providers']['roles']['roles'] | undefined,
  view: View,
): Page {
  return {
    title: provider.name,
    ...(provider.description === '' ? {} : { lead: provider.description }),
    crumbs: [{ href: at('systems'), text: texts.providers.title }],
    content: (
      <>
        <Facts facts={kindOf(provider, provider.id)} />
        {roles !== undefined && (
          <section aria-labelledby="roles">
            <h2 id="roles">{texts.providers.rolesOfSystem}</h2>
            {roles.length === 0 ? <p>{texts.providers.noRoles}</p> : <RoleTable roles={roles.slice(0, limits.shown)} />}
            {roles.length > limits.shown && (
              <details id="more-roles">
                <summary>{texts.providers.moreRoles(roles.length - limits.shown)}</summary>
                <RoleTable roles={roles.slice(limits.shown)} />
              </details>
            )}
          </section>
        )}
        <p class="after">
          <a href={`${view.basePath}/roles?provider=${encodeURIComponent(provider.id)}`}>
            {texts.providers.requestableRoles}
          </a>
        </p>
      </>
    ),
  };
}

function RoleTable({ roles }: Pick<Outputs['providers']['roles'], 'roles'>): VNode {
  return (
    <div class="table">
      <table class="stacks">
        <thead>
          <tr>
            <th scope="col">{texts.providers.name}</th>
            <th scope="col">{texts.providers.description}</th>
          </tr>
        </thead>
        <tbody>
          {roles.map((role) => (
            <tr key={role.arn}>
              <th scope="row">
                <code>{role.name}</code>
              </th>
              <td>{role.description}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function kindOf(provider: { provider: string; capabilities: string[] }, id: string): [string, string | VNode][] {
  return [
    [texts.providers.identifier, <code>{id}</code>],
    [texts.providers.type, provider.provider],
    [texts.providers.usedFor, usesOf(provider)],
  ];
}

function usesOf(provider: { capabilities: string[] }): string {
  return listInWords(provider.capabilities.map((each) => capabilities[each] ?? each));
}
