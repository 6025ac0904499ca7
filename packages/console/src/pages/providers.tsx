import type { VNode } from 'preact';
import { Facts } from './parts/facts.js';
import { type Outputs, type Page, to, type View } from './view.js';
import { listInWords } from './words.js';

const capabilities: Readonly<Record<string, string>> = {
  authenticator: 'people sign in',
  authorizer: 'access is granted',
  identities: 'people are known',
  notifications: 'messages are sent',
};

/** Where people sign in, and where access is granted. */
export function providersPage({ providers }: Outputs['providers']['list'], view: View): Page {
  return {
    title: 'Providers',
    content: (
      <>
        <p class="lead">The systems that Belay talks to for you: where people sign in, and where access is granted.</p>
        {providers.length === 0 ? (
          <div class="empty">
            <p>There is no provider here that you may use.</p>
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

/** One provider and, where it is one that grants, what it has. */
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
            <h2 id="roles">Its own roles</h2>
            {roles.length === 0 ? (
              <p>It has none that could be granted.</p>
            ) : (
              <div class="table">
                <table class="stacks">
                  <thead>
                    <tr>
                      <th scope="col">Name</th>
                      <th scope="col">Description</th>
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
            Roles that you may ask for here
          </a>
        </p>
      </>
    ),
  };
}

function kindOf(provider: { provider: string; capabilities: string[] }, id: string): [string, string | VNode][] {
  return [
    ['Identifier', <code>{id}</code>],
    ['Type', provider.provider],
    ['Here', listInWords(provider.capabilities.map((each) => capabilities[each] ?? each))],
  ];
}
