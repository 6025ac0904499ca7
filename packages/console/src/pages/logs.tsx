import { limits } from '@belay/contract/limits';
import type { VNode } from 'preact';
import { texts } from '../texts.js';
import { Badge } from './parts/status.js';
import { readable } from './readable.js';
import { type Outputs, type Page, to, type View } from './view.js';
import { momentInWords } from './words.js';

const levels = ['info', 'warning', 'error'];

/** Renders the newest events that the viewer can see, with filters. */
export function logsPage({ logs }: Outputs['logs']['list'], view: View): Page {
  return {
    title: texts.logs.title,
    content: (
      <>
        <p class="lead">
          {texts.logs.lead}
          {view.offers('logs.export') && (
            <>
              {' '}
              <a href={`${view.basePath}/logs/export`} download="belay-log.ndjson">
                {texts.logs.export}
              </a>
            </>
          )}
        </p>
        <Filters view={view} />
        <p role="status">
          {logs.length === 0
            ? texts.logs.empty
            : logs.length === 1
              ? texts.logs.oneEvent
              : texts.logs.events(logs.length)}
        </p>
        {logs.length > 0 && (
          <div class="table">
            <table class="stacks">
              <thead>
                <tr>
                  <th scope="col">{texts.logs.time}</th>
                  <th scope="col">{texts.logs.event}</th>
                  <th scope="col">{texts.logs.actor}</th>
                  <th scope="col">{texts.logs.level}</th>
                  <th scope="col">{texts.logs.request}</th>
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
                    <td data-label={texts.logs.actor}>{whoActed(entry.user, view)}</td>
                    <td>
                      <Badge status={entry.level} />
                    </td>
                    <td>
                      {entry.workflow_id !== '' && (
                        <a href={to(view, 'execution', entry.workflow_id)}>
                          <span class="hidden-text">{texts.logs.hiddenRequest}</span>
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
  if (user === '') return texts.logs.belay;
  return user === viewer?.email ? 'you' : user;
}

function Filters({ view }: { view: View }): VNode {
  const given = (name: string) => (typeof view.input[name] === 'string' ? view.input[name] : '');
  return (
    <form class="filters" method="get" action={`${view.basePath}/logs`} aria-label={texts.logs.filter}>
      <div>
        <label for="level">{texts.logs.level}</label>
        <select id="level" name="level">
          <option value="">{texts.logs.any}</option>
          {levels.map((level) => (
            <option key={level} value={level} selected={given('level') === level}>
              {level}
            </option>
          ))}
        </select>
      </div>
      <div>
        <label for="provider">{texts.logs.system}</label>
        <input id="provider" type="text" name="provider" value={given('provider')} maxLength={limits.name} />
      </div>
      <div>
        <label for="workflow_id">{texts.logs.request}</label>
        <input id="workflow_id" type="text" name="workflow_id" value={given('workflow_id')} maxLength={limits.name} />
      </div>
      <button type="submit" class="second">
        {texts.logs.filter}
      </button>
    </form>
  );
}
