import type { VNode } from 'preact';
import { texts } from '../texts.js';
import { Facts } from './parts/facts.js';
import { type Outputs, type Page, to, type View } from './view.js';
import { listInWords } from './words.js';

const capabilities: Readonly<Record<string, string>> = {
  authenticator: texts.providers.authenticator,
  authorizer: texts.providers.authorizer,
  identities: texts.providers.identities,
  notifications: texts.providers.notifications,
};

/** Renders the list of systems. */
export function providersPage({ providers }: Outputs['providers']['list'], view: View): Page {
  return {
    title: texts.providers.title,
    content: (
      <>
        <p class="lead">{texts.providers.lead}</p>
        {providers.length === 0 ? (
          <div class="empty">
            <p>{texts.providers.empty}</p>
          </div>
        ) : (
          <ul class="cards two">
            {providers.map(({ _id, _source: provider }) => (
              <li key={_id} class="card">
                <h2>
                  <a href={to(view, 'provider', _id)}>{provider.name}</a>
                </h2>
                {provider.description !== '' && <p>{provider.description}</p>}
                <Facts facts={kindOf(provider, _id)} />
              </li>
            ))}
          </ul>
        )}
      </>
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
    content: (
      <>
        <p class="lead">{provider.description}</p>
        <Facts facts={kindOf(provider, provider.id)} />
        {roles !== undefined && (
          <section aria-labelledby="roles">
            <h2 id="roles">{texts.providers.rolesOfSystem}</h2>
            {roles.length === 0 ? (
              <p>{texts.providers.noRoles}</p>
            ) : (
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
            )}
          </section>
        )}
        <p>
          <br />
          <a href={`${view.basePath}/roles?provider=${encodeURIComponent(provider.id)}`}>
            {texts.providers.requestableRoles}
          </a>
        </p>
      </>
    ),
  };
}

function kindOf(provider: { provider: string; capabilities: string[] }, id: string): [string, string | VNode][] {
  return [
    [texts.providers.identifier, <code>{id}</code>],
    [texts.providers.type, provider.provider],
    [texts.providers.usedFor, listInWords(provider.capabilities.map((each) => capabilities[each] ?? each))],
  ];
}
