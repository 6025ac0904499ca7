import type { VNode } from 'preact';
import { Badge } from './parts/status.js';
import { readable } from './readable.js';
import { type Outputs, type Page, to, type View } from './view.js';
import { momentInWords } from './words.js';

const levels = ['info', 'warning', 'error'];

/** The newest entries that the viewer may see, and a form to look among them. */
export function logsPage({ logs }: Outputs['logs']['list'], view: View): Page {
  return {
    title: 'Log',
    content: (
      <>
        <p class="lead">
          What happened, newest first: what you did, and what was done about your requests.
          {view.offers('logs.export') && (
            <>
              {' '}
              All of it is to be had as a{' '}
              <a href={`${view.basePath}/logs/export`} download="belay-log.ndjson">
                file
              </a>
              .
            </>
          )}
        </p>
        <Filters view={view} />
        <p role="status">
          {logs.length === 0 ? 'No entry is like that.' : logs.length === 1 ? '1 entry' : `${logs.length} entries`}
        </p>
        {logs.length > 0 && (
          <div class="table">
            <table class="stacks">
              <thead>
                <tr>
                  <th scope="col">When</th>
                  <th scope="col">What</th>
                  <th scope="col">Who</th>
                  <th scope="col">Level</th>
                  <th scope="col">Request</th>
                </tr>
              </thead>
              <tbody>
                {logs.map((entry) => (
                  <tr key={`${entry.timestamp} ${entry.type} ${entry.message}`}>
                    <td class="time">
                      <time dateTime={entry.timestamp}>{momentInWords(entry.timestamp)}</time>
                    </td>
                    <td>
                      {readable(entry.message)}
                      <br />
                      <span class="quiet">
                        <code>{entry.type}</code>
                      </span>
                    </td>
                    <td>{whoActed(entry.user, view)}</td>
                    <td>
                      <Badge status={entry.level} />
                    </td>
                    <td>
                      {entry.workflow_id !== '' && (
                        <a href={to(view, 'execution', entry.workflow_id)}>
                          <span class="hidden-text">Request </span>
                          {entry.workflow_id.slice(-8)}
                        </a>
                      )}
                    </td>
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

function whoActed(user: string, { viewer }: View): string {
  if (user === '') return 'Belay';
  return user === viewer?.email ? 'you' : user;
}

function Filters({ view }: { view: View }): VNode {
  const given = (name: string) => (typeof view.input[name] === 'string' ? view.input[name] : '');
  return (
    <form class="filters" method="get" action={`${view.basePath}/logs`} aria-label="Filter">
      <div>
        <label for="level">Level</label>
        <select id="level" name="level">
          <option value="">Any</option>
          {levels.map((level) => (
            <option key={level} value={level} selected={given('level') === level}>
              {level}
            </option>
          ))}
        </select>
      </div>
      <div>
        <label for="provider">Provider</label>
        <input id="provider" type="text" name="provider" value={given('provider')} maxLength={200} />
      </div>
      <div>
        <label for="workflow_id">Request</label>
        <input id="workflow_id" type="text" name="workflow_id" value={given('workflow_id')} maxLength={200} />
      </div>
      <button type="submit" class="second">
        Filter
      </button>
    </form>
  );
}
