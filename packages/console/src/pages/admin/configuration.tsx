import { at } from '../../paths.js';
import { texts } from '../../texts.js';
import { Empty, Row } from '../parts/list.js';
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

/** Renders what a version of the configuration changed. */
export function adminConfigurationPage(diff: Outputs['admin']['configuration'], view: View): Page {
  const { from, to: newer, changes, truncated } = diff;
  return {
    title: texts.admin.changesOf(newer.version),
    crumbs: [{ href: at('admin', 'configuration'), text: texts.admin.configurationTitle }],
    content: (
      <>
        <p class="lead">
          {from === null ? texts.admin.firstVersion : texts.admin.comparedWith(from.version)} {newer.source},{' '}
          <When at={newer.applied_at} view={view} />
        </p>
        {changes.length === 0 && <Empty icon="check" title={texts.admin.noChanges} />}
        {truncated && <p role="status">{texts.admin.moreChanges(changes.length)}</p>}
        {changes.length > 0 && (
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
                    <td>{hidden ? texts.admin.hidden : <code class="removed">{before}</code>}</td>
                    <td>{hidden ? texts.admin.hidden : <code class="added">{after}</code>}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </>
    ),
  };
}
