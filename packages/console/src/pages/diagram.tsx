import type { ComponentChildren, VNode } from 'preact';
import { texts } from '../texts.js';
import { approvalInWords, blocksOf, branchesOf, isRecord } from './approvers.js';
import { durationInWords } from './words.js';

/** Renders a workflow as boxes with arrows, from an ordered list that screen readers can read. */
export function Diagram({ tasks }: { tasks: readonly unknown[] }): VNode {
  return (
    <ol class="flow">
      <li>
        <span class="node start">{texts.diagram.start}</span>
      </li>
      <Tasks tasks={tasks} path="" />
      <li>
        <span class="node end">{texts.diagram.end}</span>
      </li>
    </ol>
  );
}

function Tasks({ tasks, path }: { tasks: readonly unknown[]; path: string }): VNode {
  const named = tasks.flatMap((entry) => (isRecord(entry) ? Object.entries(entry) : []));
  return (
    <>
      {named.map(([name, task]) => (
        <li key={name}>
          <Task name={name} task={isRecord(task) ? task : {}} path={path} />
        </li>
      ))}
    </>
  );
}

function Task({ name, task, path }: { name: string; task: Record<string, unknown>; path: string }): VNode {
  const { kind, text, tone } = describe(task);
  const inner = `${path}${name}-`;
  const branches = branchesOf(task);
  return (
    <div class={`node ${tone}`} id={anchor(path, name)}>
      <p class="node-head">
        {name} <span class="node-kind">{kind}</span>
      </p>
      {text !== '' && <p>{text}</p>}
      {typeof task.if === 'string' && (
        <p class="quiet">
          {texts.diagram.onlyIf}
          <code>{bare(task.if)}</code>
        </p>
      )}
      <Cases task={task} path={path} />
      {blocksOf(task).map(({ title, tasks }) => (
        <div class="inside" key={title}>
          <p class="quiet">{title}</p>
          <ol>
            <Tasks tasks={tasks} path={inner} />
          </ol>
        </div>
      ))}
      {branches.length > 0 && (
        <ul class="branches">
          <Tasks tasks={branches} path={inner} />
        </ul>
      )}
      {typeof task.then === 'string' && task.then !== 'continue' && (
        <p>
          {texts.diagram.then}
          <Target name={task.then} path={path} />
        </p>
      )}
    </div>
  );
}

function Cases({ task, path }: { task: Record<string, unknown>; path: string }): VNode | null {
  if (!Array.isArray(task.switch)) return null;
  const cases = (task.switch as unknown[]).flatMap((entry) => (isRecord(entry) ? Object.entries(entry) : []));
  return (
    <ul class="cases">
      {cases.map(([name, value]) => {
        const { when, then } = isRecord(value) ? value : {};
        return (
          <li key={name}>
            <strong>{name}</strong>
            {typeof when === 'string' ? (
              <>
                {texts.diagram.if}
                <code>{bare(when)}</code>:{' '}
              </>
            ) : (
              texts.diagram.otherwise
            )}
            <Target name={typeof then === 'string' ? then : 'continue'} path={path} />
          </li>
        );
      })}
    </ul>
  );
}

function Target({ name, path }: { name: string; path: string }): ComponentChildren {
  if (name === 'end') return texts.diagram.endTarget;
  if (name === 'exit') return texts.diagram.exitTarget;
  if (name === 'continue') return texts.diagram.continueTarget;
  return (
    <>
      {texts.diagram.goTo}
      <a href={`#${anchor(path, name)}`}>{name}</a>
    </>
  );
}

function anchor(path: string, name: string): string {
  return `task-${`${path}${name}`.replace(/[^\w-]/g, '_')}`;
}

/** Returns an expression without `${ }`. */
function bare(expression: string): string {
  return expression.trim().replace(/^\$\{\s*([\s\S]*?)\s*\}$/, '$1');
}

interface Description {
  kind: string;
  text: string;
  tone: '' | 'asks' | 'grants';
}

const functions: Readonly<Record<string, string>> = {
  'access.validate': texts.diagram.validate,
  'access.grant': texts.diagram.grant,
  'access.hold': texts.diagram.hold,
  'access.revoke': texts.diagram.revoke,
};

function describe(task: Record<string, unknown>): Description {
  const plain = (kind: string, text = ''): Description => ({ kind, text, tone: '' });
  if (typeof task.call === 'string') return describeCall(task.call, task);
  if ('switch' in task) return plain(texts.diagram.switch);
  if ('fork' in task)
    return plain(
      isRecord(task.fork) && task.fork.compete === true
        ? texts.diagram.inParallelTheFirstWins
        : texts.diagram.inParallel,
    );
  if ('for' in task)
    return plain(texts.diagram.kinds.loop, isRecord(task.for) ? texts.diagram.forEachOf(textOf(task.for.in)) : '');
  if ('try' in task) return plain(texts.diagram.kinds.try);
  if ('wait' in task)
    return plain(
      texts.diagram.kinds.wait,
      texts.diagram.wait(typeof task.wait === 'string' ? durationInWords(task.wait) : textOf(task.wait)),
    );
  if ('listen' in task) return plain(texts.diagram.kinds.listen, texts.diagram.listen);
  if ('emit' in task) return plain(texts.diagram.kinds.emit, texts.diagram.emit);
  if ('set' in task)
    return plain(
      texts.diagram.kinds.set,
      isRecord(task.set) ? texts.diagram.set(Object.keys(task.set).join(', ')) : '',
    );
  if ('raise' in task) return plain(texts.diagram.kinds.raise, texts.diagram.raise);
  if ('run' in task) return plain(texts.diagram.kinds.run, texts.diagram.run);
  if ('do' in task) return plain(texts.diagram.inOrder);
  return plain('');
}

function describeCall(call: string, task: Record<string, unknown>): Description {
  const given = isRecord(task.with) ? task.with : {};
  if (call === 'access.approve')
    return { kind: texts.diagram.kinds.approve, text: texts.diagram.approve(approvalInWords(task)), tone: 'asks' };
  if (call === 'access.notify')
    return {
      kind: texts.diagram.kinds.notify,
      text: texts.diagram.notify(textOf(given.to), textOf(given.provider)),
      tone: '',
    };
  if (call === 'http') {
    const endpoint = isRecord(given.endpoint) ? given.endpoint.uri : (given.endpoint ?? given.uri);
    return {
      kind: texts.diagram.kinds.call,
      text: `${textOf(given.method ?? 'get').toUpperCase()} ${textOf(endpoint)}`,
      tone: '',
    };
  }
  return {
    kind: call,
    text: functions[call] ?? texts.diagram.call(call),
    tone: call === 'access.grant' ? 'grants' : '',
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
