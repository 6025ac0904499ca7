import type { ComponentChildren, VNode } from 'preact';
import { approvalInWords, blocksOf, branchesOf, isRecord } from './approvers.js';
import { durationInWords } from './words.js';

/** A workflow as boxes joined by arrows: an ordered list, so that it reads aloud as well as it looks. */
export function Diagram({ tasks }: { tasks: readonly unknown[] }): VNode {
  return (
    <ol class="flow">
      <li>
        <span class="node start">A request</span>
      </li>
      <Tasks tasks={tasks} path="" />
      <li>
        <span class="node end">The end</span>
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
          Only if <code>{bare(task.if)}</code>
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
          Then <Target name={task.then} path={path} />
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
                , if <code>{bare(when)}</code>:{' '}
              </>
            ) : (
              ', otherwise: '
            )}
            <Target name={typeof then === 'string' ? then : 'continue'} path={path} />
          </li>
        );
      })}
    </ul>
  );
}

function Target({ name, path }: { name: string; path: string }): ComponentChildren {
  if (name === 'end') return 'the end';
  if (name === 'exit') return 'leave this part';
  if (name === 'continue') return 'go on with the next';
  return (
    <>
      go to <a href={`#${anchor(path, name)}`}>{name}</a>
    </>
  );
}

function anchor(path: string, name: string): string {
  return `task-${`${path}${name}`.replace(/[^\w-]/g, '_')}`;
}

/** An expression without its wrapping. */
function bare(expression: string): string {
  return expression.trim().replace(/^\$\{\s*([\s\S]*?)\s*\}$/, '$1');
}

interface Description {
  kind: string;
  text: string;
  tone: '' | 'asks' | 'grants';
}

const functions: Readonly<Record<string, string>> = {
  'access.validate': 'Check that the request is within what the role, the provider and the requester’s rights allow',
  'access.grant': 'Grant the access; its clock starts when it works',
  'access.hold': 'Wait until the access has ended: by time, by hand or given back',
  'access.revoke': 'Take the access away now',
};

function describe(task: Record<string, unknown>): Description {
  const plain = (kind: string, text = ''): Description => ({ kind, text, tone: '' });
  if (typeof task.call === 'string') return describeCall(task.call, task);
  if ('switch' in task) return plain('decides which way to go');
  if ('fork' in task)
    return plain(isRecord(task.fork) && task.fork.compete === true ? 'in parallel, the first wins' : 'in parallel');
  if ('for' in task) return plain('repeats', isRecord(task.for) ? `For each of ${textOf(task.for.in)}` : '');
  if ('try' in task) return plain('tries');
  if ('wait' in task)
    return plain('waits', `Wait ${typeof task.wait === 'string' ? durationInWords(task.wait) : textOf(task.wait)}`);
  if ('listen' in task) return plain('listens', 'Wait for an event');
  if ('emit' in task) return plain('emits', 'Tell others with an event');
  if ('set' in task) return plain('sets', isRecord(task.set) ? `Set ${Object.keys(task.set).join(', ')}` : '');
  if ('raise' in task) return plain('fails', 'End with a fault');
  if ('run' in task) return plain('runs', 'Run another workflow');
  if ('do' in task) return plain('in order');
  return plain('');
}

function describeCall(call: string, task: Record<string, unknown>): Description {
  const given = isRecord(task.with) ? task.with : {};
  if (call === 'access.approve') return { kind: 'asks', text: `Ask ${approvalInWords(task)}`, tone: 'asks' };
  if (call === 'access.notify')
    return { kind: 'tells', text: `Tell ${textOf(given.to)} through ${textOf(given.provider)}`, tone: '' };
  if (call === 'http') {
    const endpoint = isRecord(given.endpoint) ? given.endpoint.uri : (given.endpoint ?? given.uri);
    return { kind: 'calls', text: `${textOf(given.method ?? 'get').toUpperCase()} ${textOf(endpoint)}`, tone: '' };
  }
  return { kind: call, text: functions[call] ?? `Call ${call}`, tone: call === 'access.grant' ? 'grants' : '' };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
