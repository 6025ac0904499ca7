import { texts } from '../texts.js';
import { count, durationInWords, listInWords } from './words.js';

interface Stage {
  approvers?: { users?: unknown; groups?: unknown };
  count?: unknown;
  timeout?: unknown;
}

/** Returns every task of a definition with its name, in document order, at any depth. */
function tasksIn(tasks: unknown): { name: string; task: Record<string, unknown> }[] {
  if (!Array.isArray(tasks)) return [];
  return tasks.flatMap((entry: unknown) => {
    if (!isRecord(entry)) return [];
    return Object.entries(entry).flatMap(([name, task]) =>
      isRecord(task)
        ? [
            { name, task },
            ...blocksOf(task).flatMap(({ tasks: inner }) => tasksIn(inner)),
            ...tasksIn(branchesOf(task)),
          ]
        : [],
    );
  });
}

/** Returns the lists of tasks inside a task, each with a title. */
export function blocksOf(task: Record<string, unknown>): { title: string; tasks: unknown[] }[] {
  const blocks: { title: string; tasks: unknown[] }[] = [];
  const add = (title: string, tasks: unknown) => {
    if (Array.isArray(tasks)) blocks.push({ title, tasks: tasks as unknown[] });
  };
  add('for' in task ? texts.approvers.forEach : texts.approvers.inOrder, task.do);
  add(texts.approvers.try, task.try);
  if (isRecord(task.catch)) add(texts.approvers.onError, task.catch.do);
  if (isRecord(task.foreach)) add(texts.approvers.forEachEvent, task.foreach.do);
  return blocks;
}

/** Returns the branches of a fork. */
export function branchesOf(task: Record<string, unknown>): unknown[] {
  return isRecord(task.fork) && Array.isArray(task.fork.branches) ? (task.fork.branches as unknown[]) : [];
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Describes the approvers of an approval: `one person of the group approvers, within 4 hours`. */
export function approvalInWords(task: Record<string, unknown>): string {
  const stages = isRecord(task.with) && Array.isArray(task.with.stages) ? (task.with.stages as unknown[]) : [];
  if (stages.length === 0) return texts.approvers.computed;
  const deciders = stages.map(stageInWords);
  return deciders.map((one, index) => (index === 0 ? one : texts.approvers.then(one))).join(', ');
}

function stageInWords(stage: unknown): string {
  if (!isRecord(stage)) return texts.approvers.computed;
  const { approvers, count: needed, timeout } = stage as Stage;
  const users = textsOf(approvers?.users);
  const groups = textsOf(approvers?.groups).map((group) => texts.approvers.theGroup(group));
  const who = [...users, ...groups];
  if (who.length === 0 || who.some(isExpression)) return texts.approvers.computed;
  const number = typeof needed === 'number' ? needed : 1;
  const single = who.length === 1 && users.length === 1;
  const choice = single
    ? listInWords(who)
    : texts.approvers.peopleOf(number === 1 ? 'one person' : `${number} people`, listInWords(who, 'or'));
  const within =
    typeof timeout === 'string' && !isExpression(timeout) ? texts.approvers.within(durationInWords(timeout)) : '';
  return `${choice}${within}`;
}

/** Describes each approval of a workflow. */
function decisionsIn(tasks: unknown): string[] {
  return tasksIn(tasks)
    .filter(({ task }) => task.call === 'access.approve')
    .map(({ task }) => approvalInWords(task));
}

/** Describes all approvals of a workflow in one phrase. */
export function whoDecides(tasks: unknown): string {
  const decisions = decisionsIn(tasks);
  if (decisions.length === 0) return texts.approvers.noApproval;
  const text = listInWords(
    decisions.map((decision, index) => (index === 0 ? decision : texts.approvers.then(decision))),
  );
  // An e-mail address keeps its first letter.
  const first = /^\S*@/.test(text) ? text.charAt(0) : text.charAt(0).toUpperCase();
  return `${first}${text.slice(1)}${decisions.length > 1 ? ` (${count(decisions.length, 'approval')})` : ''}`;
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}

function isExpression(text: string): boolean {
  return /^\s*(the group )?\$\{/.test(text);
}
