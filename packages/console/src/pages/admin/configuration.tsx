import type { VNode } from 'preact';
import { at } from '../../paths.js';
import { texts } from '../../texts.js';
import { Empty, Row } from '../parts/list.js';
import { Long } from '../parts/long.js';
import { Ago, When } from '../parts/time.js';
import type { Outputs, Page, View } from '../view.js';
import { AdminPaging, AdminTabs } from './frame.js';

/** Renders the versions of the configuration, the newest first. */
export function adminConfigurationsPage({ versions, next }: Outputs['admin']['configurations'], view: View): Page {
  return {
    title: texts.admin.configurationTitle,
    lead: texts.admin.configurationLead,
    content: (
      <>
        <AdminTabs current="configuration" />
        <ul class="rows">
          {versions.map(({ version, applied_at: applied, source, digest }) => (
            <Row key={version} href={at('admin', 'configuration', version)} title={version} sub={source}>
              <code class="quiet">{digest.slice(0, 12)}</code>
              <Ago at={applied} view={view} />
            </Row>
          ))}
        </ul>
        <AdminPaging page="configuration" filters={{}} next={next} view={view} />
      </>
    ),
  };
}

type Diff = Outputs['admin']['configuration'];

/** Up to this many changes are unfolded. */
const few = 20;

/** Renders the changes of a configuration version: their number in each section, and each change, folded when there are many. */
export function adminConfigurationPage(diff: Diff, view: View): Page {
  const { from, to: newer, sections, changes, truncated } = diff;
  return {
    title: texts.admin.changesOf(newer.version),
    crumbs: [{ href: at('admin', 'configuration'), text: texts.admin.configurationTitle }],
    content: (
      <>
        <p class="lead">
          {from === null ? texts.admin.firstVersion : texts.admin.comparedWith(from.version)} {newer.source},{' '}
          <When at={newer.applied_at} view={view} />
        </p>
        {sections.length === 0 && <Empty icon="check" title={texts.admin.noChanges} />}
        {truncated && <p role="status">{texts.admin.moreChanges(changes.length)}</p>}
        {sections.map((section) => (
          <Section
            key={section.section}
            section={section}
            changes={changes.filter(({ path }) => sectionOf(path) === section.section)}
            open={from !== null && changes.length <= few}
          />
        ))}
      </>
    ),
  };
}

/** Returns the section of a change, from its key. */
function sectionOf(path: string): string {
  return path.split(/[.[]/, 1)[0] ?? '';
}

function Section(props: { section: Diff['sections'][number]; changes: Diff['changes']; open: boolean }): VNode {
  const { section, added, removed, changed } = props.section;
  const counts = Object.entries({ added, removed, changed } as const).filter(([, number]) => number > 0);
  return (
    <details class="section" id={`section-${section}`} open={props.open}>
      <summary>
        <code>{section}</code>{' '}
        <span class="quiet">
          {counts
            .map(([kind, number]) => `${number} ${texts.admin.changed[kind as keyof typeof texts.admin.changed]}`)
            .join(', ')}
        </span>
      </summary>
      {props.changes.length === 0 ? <p class="quiet">{texts.admin.notListed}</p> : <Changes changes={props.changes} />}
    </details>
  );
}

function Changes({ changes }: Pick<Diff, 'changes'>): VNode {
  return (
    <div class="table">
      <table class="stacks">
        <thead>
          <tr>
            <th scope="col">{texts.admin.key}</th>
            <th scope="col">{texts.admin.change}</th>
            <th scope="col">{texts.admin.before}</th>
            <th scope="col">{texts.admin.after}</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ path, change, before, after, hidden }) => (
            <tr key={path}>
              <td>
                <code>{path}</code>
              </td>
              <td>{texts.admin.changed[change]}</td>
              <td>{hidden ? texts.admin.hidden : <Value text={before} class="removed" />}</td>
              <td>{hidden ? texts.admin.hidden : <Value text={after} class="added" />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Value(props: { text: string | null; class: string }): VNode | null {
  if (props.text === null) return null;
  return (
    <code class={props.class}>
      <Long text={props.text} />
    </code>
  );
}
