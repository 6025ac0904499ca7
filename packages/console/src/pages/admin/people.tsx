import { limits } from '@belay/contract/limits';
import type { VNode } from 'preact';
import { at } from '../../paths.js';
import { texts } from '../../texts.js';
import { Facts } from '../parts/facts.js';
import { filtersOf } from '../parts/filters.js';
import { Empty, Row, SearchField } from '../parts/list.js';
import { Avatar } from '../parts/people.js';
import { Ago, When } from '../parts/time.js';
import { type Outputs, type Page, to, type View } from '../view.js';
import { count } from '../words.js';
import { HeldRows } from './access.js';
import { Act, AdminPaging, AdminTabs, given } from './frame.js';

/** Renders the people who have signed in, with a search. */
export function adminPeoplePage({ people, next }: Outputs['admin']['people'], view: View): Page {
  return {
    title: texts.admin.peopleTitle,
    lead: texts.admin.peopleLead,
    content: (
      <>
        <AdminTabs current="people" />
        <form class="toolbar" action={at('admin', 'people')}>
          <SearchField name="q" value={given(view, 'q')} label={texts.admin.searchPeople} />
          <button type="submit" class="second">
            {texts.admin.search}
          </button>
        </form>
        {people.length === 0 && <Empty icon="users" title={texts.admin.noPeople} />}
        <ul class="rows">
          {people.map((person) => (
            <Row
              key={person.id}
              href={at('admin', 'people', person.email)}
              title={person.name}
              sub={person.email}
              sign={<Avatar name={person.name} />}
            >
              {person.deactivated && <span class="badge bad">{texts.admin.deactivated}</span>}
              <span>{heldBy(person)}</span>
            </Row>
          ))}
        </ul>
        <AdminPaging page="people" filters={filtersOf(view, ['q'])} next={next} view={view} />
      </>
    ),
  };
}

function heldBy({ logins, tokens }: { logins: number; tokens: number }): string {
  const words = count(logins, texts.admin.login);
  return tokens === 0 ? words : `${words}, ${count(tokens, texts.admin.token)}`;
}

/** Renders one person: logins, tokens, access, open requests, and the forms that end them. */
export function adminPersonPage(details: Outputs['admin']['person'], view: View): Page {
  const { person, identities, access, requests } = details;
  return {
    title: person.name,
    crumbs: [{ href: at('admin', 'people'), text: texts.admin.peopleTitle }],
    actions: (
      <>
        <Separate person={person} view={view} />
        <Act
          id="stop"
          opens={texts.admin.stop}
          about={texts.admin.stopAbout(person.name)}
          title={texts.admin.stopTitle}
          action={to(view, 'admin', 'people', person.email, 'stop')}
          view={view}
        />
      </>
    ),
    content: (
      <>
        <Facts
          facts={[
            [texts.admin.address, person.email],
            [texts.admin.groups, person.groups.join(', ') || texts.admin.none],
            [texts.admin.firstSeen, <When at={person.created_at} view={view} />],
            person.deactivated && [texts.admin.state, texts.admin.deactivated],
            ...identities.map(({ provider, subject }): [string, string] => [provider, subject]),
          ]}
        />
        <h2>{texts.admin.loginsTitle}</h2>
        <Logins logins={details.logins} view={view} />
        <h2>{texts.admin.accessTitle}</h2>
        {access.length === 0 ? <p class="quiet">{texts.admin.noAccess}</p> : <HeldRows access={access} view={view} />}
        <h2>{texts.admin.openRequests}</h2>
        {requests.length === 0 && <p class="quiet">{texts.admin.noRequests}</p>}
        <ul class="rows">
          {requests.map(({ id, role, status, created_at: created }) => (
            <Row key={id} href={at('requests', id)} title={role} sub={status}>
              <Ago at={created} view={view} />
            </Row>
          ))}
        </ul>
      </>
    ),
  };
}

function Separate({ person, view }: { person: Outputs['admin']['person']['person']; view: View }): VNode {
  return (
    <Act
      id="separate"
      opens={texts.admin.separate}
      about={texts.admin.separateAbout(person.name)}
      title={texts.admin.separateTitle}
      action={to(view, 'admin', 'people', person.id, 'separate')}
      view={view}
    >
      <div class="field">
        <label for="separate-other">{texts.admin.separateFrom}</label>
        <input id="separate-other" type="text" name="other" required maxLength={limits.name} />
      </div>
    </Act>
  );
}

function Logins({ logins, view }: { logins: Outputs['admin']['person']['logins']; view: View }): VNode {
  if (logins.length === 0) return <p class="quiet">{texts.admin.noLogins}</p>;
  return (
    <ul class="rows">
      {logins.map(({ id, kind, provider, label, expires_at: expires }) => (
        <li key={id} class="row">
          <span class="row-main">
            <span class="row-title">{label ?? texts.admin.kinds[kind]}</span>
            <span class="row-sub">{label === null ? provider : `${texts.admin.kinds[kind]} · ${provider}`}</span>
          </span>
          <span class="row-side">
            <span>
              {texts.admin.expires} <Ago at={expires} view={view} />
            </span>
            <Act
              id={`end-${id}`}
              opens={kind === 'token' ? texts.admin.revoke : texts.admin.end}
              about={texts.admin.endAbout(label ?? texts.admin.kinds[kind])}
              title={texts.admin.endTitle}
              action={to(view, 'admin', 'logins', id, 'end')}
              view={view}
            />
          </span>
        </li>
      ))}
    </ul>
  );
}
