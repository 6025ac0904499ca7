import { at } from '../../paths.js';
import { texts } from '../../texts.js';
import { AccessWords } from '../parts/access.js';
import { Facts } from '../parts/facts.js';
import { Empty } from '../parts/list.js';
import { When } from '../parts/time.js';
import { type Outputs, type Page, to, type View } from '../view.js';
import { Act, AdminPaging, AdminTabs } from './frame.js';

/** Renders the overdue revocations with their errors, and the forms that make them due now or leave what others gave. */
export function adminOverduePage({ revocations, next }: Outputs['admin']['overdue'], view: View): Page {
  return {
    title: texts.admin.overdueTitle,
    lead: texts.admin.overdueLead,
    live: { every: 5 },
    content: (
      <>
        <AdminTabs current="overdue" />
        <div id="overdue" data-region>
          <p class="hidden-text" data-say>
            {texts.admin.announceOverdue(revocations.length)}
          </p>
          {revocations.length === 0 && <Empty icon="circle-check" title={texts.admin.noOverdue} />}
          <ul class="cards">
            {revocations.map((late) => (
              <li key={late.id} class="card">
                <div class="card-head">
                  <h2>
                    {late.identity} · {late.provider}
                  </h2>
                  <Act
                    id={`retry-${late.id}`}
                    opens={texts.admin.tryNow}
                    about={texts.admin.tryNowAbout(late.identity, late.provider)}
                    title={texts.admin.tryNowTitle}
                    action={to(view, 'admin', 'overdue', late.id, 'retry')}
                    view={view}
                  />
                  {late.left_to_others !== null && (
                    <Act
                      id={`accept-${late.id}`}
                      opens={texts.admin.accept}
                      about={late.left_to_others}
                      title={texts.admin.acceptTitle}
                      action={to(view, 'admin', 'overdue', late.id, 'accept')}
                      fields={{ left: late.left_to_others }}
                      view={view}
                    />
                  )}
                </div>
                <Facts
                  facts={[
                    [texts.admin.access, <AccessWords access={late.access} />],
                    late.users.length > 0 && [texts.admin.people, late.users.map(({ email }) => email).join(', ')],
                    [texts.admin.since, <When at={late.since} view={view} />],
                    [texts.admin.attempts, late.attempts],
                    late.last_error !== null && [texts.admin.lastError, late.last_error],
                    late.left_to_others !== null && [texts.admin.left, late.left_to_others],
                    late.pending !== null && [texts.accessPart.waiting, late.pending],
                    late.elsewhere && [texts.admin.target, texts.admin.elsewhere],
                    [texts.admin.nextTry, <When at={late.next_try} view={view} />],
                    late.executions.length > 0 && [
                      texts.admin.requests,
                      late.executions.map((id) => (
                        <a key={id} href={at('requests', id)}>
                          {id.slice(-8)}{' '}
                        </a>
                      )),
                    ],
                  ]}
                />
              </li>
            ))}
          </ul>
        </div>
        <AdminPaging page="overdue" filters={{}} next={next} view={view} />
      </>
    ),
  };
}
