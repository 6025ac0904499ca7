import type { VNode } from 'preact';
import { at } from '../../paths.js';
import { texts } from '../../texts.js';
import { AccessWords } from '../parts/access.js';
import { FilterField, Filters, filtersOf } from '../parts/filters.js';
import { Empty, Row } from '../parts/list.js';
import { Avatar } from '../parts/people.js';
import { Badge, EmergencyMark } from '../parts/status.js';
import { TimeLeft } from '../parts/time.js';
import { type Outputs, type Page, to, type View } from '../view.js';
import { Act, AdminPaging, AdminTabs } from './frame.js';

export type Held = Outputs['admin']['access']['access'][number];
const fields = ['user', 'role', 'provider'];
const labels = { user: texts.admin.person, role: texts.admin.role, provider: texts.admin.system };

/** Renders the access that people hold now, and the forms that revoke it. */
export function adminAccessPage({ access, next }: Outputs['admin']['access'], view: View): Page {
  const filters = filtersOf(view, fields);
  const filtered = Object.keys(filters).length > 0;
  return {
    title: texts.admin.accessTitle,
    lead: texts.admin.accessLead,
    content: (
      <>
        <AdminTabs current="access" />
        <Filters
          view={view}
          action={at('admin', 'access')}
          label={texts.admin.filters}
          submit={texts.admin.filter}
          set={Object.keys(filters).length}
          labels={labels}
        >
          <FilterField view={view} name="user" label={labels.user} hint={texts.admin.address} />
          <FilterField view={view} name="role" label={labels.role} />
          <FilterField view={view} name="provider" label={labels.provider} />
        </Filters>
        {filtered && access.length > 0 && (
          <p>
            <Act
              id="revoke-all"
              opens={texts.admin.revokeAll}
              about={texts.admin.revokeAllAbout(Object.values(filters).join(', '))}
              title={texts.admin.revokeAllTitle}
              action={to(view, 'admin', 'access', 'revoke')}
              fields={filters}
              view={view}
            >
              <EndRequests id="revoke-all-requests" />
            </Act>
          </p>
        )}
        {access.length === 0 ? (
          <Empty icon="shield-check" title={texts.admin.noAccess} />
        ) : (
          <HeldRows access={access} view={view} />
        )}
        <AdminPaging page="access" filters={filters} next={next} view={view} />
      </>
    ),
  };
}

/** Renders people's access as rows. */
export function HeldRows({ access, view }: { access: readonly Held[]; view: View }): VNode {
  return (
    <ul class="rows">
      {access.map((held) => (
        <Row
          title={`${held.role} · ${held.user.name}`}
          href={at('requests', held.execution_id)}
          key={held.id}
          sub={
            <>
              {held.provider}: <AccessWords access={held.access} /> ({held.identity})
            </>
          }
          sign={<Avatar name={held.user.name} />}
        >
          {held.break_glass && <EmergencyMark />}
          <Badge status={held.state} />
          {held.expires_at !== null && <TimeLeft until={held.expires_at} view={view} />}
          <Act
            id={`revoke-${held.id}`}
            opens={texts.admin.revoke}
            about={texts.admin.revokeAbout(held.user.name, held.role)}
            title={texts.admin.revokeTitle}
            action={to(view, 'admin', 'access', 'revoke')}
            fields={{ execution_id: held.execution_id }}
            view={view}
          />
        </Row>
      ))}
    </ul>
  );
}

function EndRequests({ id }: { id: string }): VNode {
  return (
    <div class="field">
      <label for={id}>
        <input id={id} type="checkbox" name="end_requests" value="true" /> {texts.admin.endRequests}
      </label>
    </div>
  );
}
