import type { ExecutionStatus, StepStatus } from '@belay/db';
import {
  begin,
  type CloudEvent,
  deliver,
  type Env,
  type Fault,
  interrupt,
  type Json,
  measureTurn,
  type Outcome,
  resolve,
  type State,
  type Step,
  type Transition,
} from '@belay/workflow';
import { isFinal } from '../final.js';
import type { Actor, EngineContext, LedgerEntry, PreparedMove } from '../ports.js';
import { callName } from '../request.js';
import { type ReadyStep, readSignals, type Snapshot, type WaitingSignal } from '../steps/snapshot.js';
import { clock, entriesOf, runtime, type ToldByTask } from './entries.js';

/** What a turn applies besides the stored rows. */
export type Given =
  | { is: 'outcome'; key: string; outcome: Outcome; attempt?: number | undefined }
  | { is: 'event'; event: CloudEvent; sender: unknown }
  | { is: 'interrupt'; actor: Actor };

/** Returns the outcome of a call that the turn opens, when the caller has it already; then the call is never performed. */
export type Serve = (step: Step) => Outcome | null;

/** The result of a turn for an execution, after one transition or several. */
export interface Decided {
  status: ExecutionStatus;
  state: State;
  output?: Json;
  fault?: Fault;
  open: Step[];
  over: PreparedMove['over'];
  consumed: PreparedMove['consumed'];
  entries: (LedgerEntry | ToldByTask)[];
  /** Whether the given input of the turn was applied, or will be, because a task accepts the given event. */
  applied: boolean;
  /** Whether there are waiting signals that were not checked yet. */
  unread: boolean;
  /** Whether something else that is ready was left for the next turn. */
  left: boolean;
}

type Item = { at: Date } & (
  | { is: 'timer'; key: string }
  | { is: 'outcome'; key: string; outcome: Outcome; given: boolean }
  | { is: 'signal'; index: number }
);

/**
 * Applies everything that is ready to an execution, in the order in which it became ready, for a bounded time. Returns
 * null when nothing is ready and the execution has no mark to remove. Pure except for expressions and for reading the
 * inbox: no transaction is open meanwhile.
 */
export async function decideTurn(
  ctx: EngineContext,
  snapshot: Snapshot,
  given?: Given,
  serve?: Serve,
): Promise<Decided | null> {
  const turn = new Turn(ctx, snapshot, given, serve);
  await turn.run();
  return turn.result();
}

class Turn {
  private state: State | null;
  private last: Transition | null = null;
  private readonly opened = new Map<string, Step>();
  private readonly over = new Map<string, StepStatus>();
  private readonly consumed: { source: string; eventId: string }[] = [];
  private readonly entries: (LedgerEntry | ToldByTask)[] = [];
  private readonly env: Env;
  private readonly pause: () => boolean | Promise<boolean>;
  /** The actor of the cancellation, when this turn starts with one. */
  private readonly cancels: Actor | null;
  /** The time that the execution has reached: late events happen at their own time. */
  private at = new Date(0);
  private signals: WaitingSignal[] | null = null;
  /** The signals before this one match no current listener. */
  private unwanted = 0;
  private looks: boolean;
  private applied = false;
  private paused = false;
  private left = false;

  constructor(
    private readonly ctx: EngineContext,
    private readonly snapshot: Snapshot,
    private readonly given: Given | undefined,
    private readonly serve: Serve | undefined,
  ) {
    this.state = snapshot.state;
    this.looks = snapshot.turn !== null || given?.is === 'event';
    const isKept = snapshot.cancelRequestedAt !== null && !snapshot.state?.cancelling;
    this.cancels = given?.is === 'interrupt' ? given.actor : isKept ? runtime : null;
    const measured = measureTurn({
      evaluate: ctx.evaluate,
      limit: ctx.timing.turn,
      clock: () => ctx.clock().getTime(),
    });
    this.pause = measured.pause;
    this.env = { ...environment(ctx, snapshot.id, snapshot.now, snapshot.startedAt), ...measured };
  }

  async run(): Promise<void> {
    if (this.state === null) await this.begin();
    if (this.cancels) await this.interrupt(this.cancels);
    for (;;) {
      if (this.isOver()) return;
      const item = await this.next();
      if (!item) return;
      if (this.last && (await this.pause())) {
        this.paused = true;
        this.left = item.is !== 'signal';
        await this.look();
        return;
      }
      await this.apply(item);
    }
  }

  result(): Decided | null {
    const { snapshot, last, state, given } = this;
    const seen = snapshot.turn !== null;
    if (!state || (!last && !seen && this.over.size === 0)) return null;
    const status = last?.status ?? snapshot.status;
    return {
      status: this.onlyWaits(status) ? 'waiting' : (status as ExecutionStatus),
      state,
      ...(last?.output === undefined ? {} : { output: last.output }),
      ...(last?.fault === undefined ? {} : { fault: last.fault }),
      open: isFinal(status) ? [] : [...this.opened.values()],
      over: [...this.over].map(([key, how]) => ({ key, status: how })),
      consumed: this.consumed,
      entries: this.entries,
      applied: given === undefined || this.applied,
      unread: this.paused && this.listens() && this.unwanted < (this.signals?.length ?? 1),
      left: this.left,
    };
  }

  /** Returns whether every open call only waits; the execution then waits too. The calls of one that waited before only wait. */
  private onlyWaits(status: string): boolean {
    const calls = Object.entries(this.state?.open ?? {}).flatMap(([key, kind]) => (kind === 'call' ? [key] : []));
    const { functions } = this.ctx.host;
    const parks = (key: string) => {
      const step = this.opened.get(key);
      return step ? functions.get(callName(step.request))?.parks !== undefined : this.snapshot.status === 'waiting';
    };
    return status === 'running' && calls.every(parks);
  }

  private isOver(): boolean {
    return this.last !== null && isFinal(this.last.status);
  }

  private async begin(): Promise<void> {
    const { snapshot } = this;
    const env = this.envAt(snapshot.startedAt ?? snapshot.now);
    // An execution that is cancelled before its start counts as started, and runs one task at most.
    const pause = this.cancels ? () => true : this.pause;
    const transition = await begin(snapshot.definition, snapshot.input, { ...env, pause });
    this.take(transition, runtime);
  }

  private async interrupt(actor: Actor): Promise<void> {
    if (this.given?.is === 'interrupt') this.applied = true;
    if (!this.state || this.isOver()) return;
    this.take(await interrupt(this.snapshot.definition, this.state, this.envAt(this.snapshot.now)), actor);
  }

  /** Returns what became ready first. */
  private async next(): Promise<Item | null> {
    const ready: Item[] = [];
    for (const step of this.snapshot.steps) ready.push(...this.itemsOf(step));
    for (const step of this.opened.values()) {
      const at = step.kind === 'timer' && step.dueAt !== undefined ? new Date(step.dueAt) : null;
      if (at && at <= this.snapshot.now) ready.push({ is: 'timer', key: step.key, at });
      const outcome = step.kind === 'call' ? this.serve?.(step) : null;
      if (outcome) ready.push({ is: 'outcome', key: step.key, outcome, given: false, at: this.at });
    }
    const { given } = this;
    if (given?.is === 'outcome' && !this.applied && this.isOpen(given.key)) {
      ready.push({ is: 'outcome', key: given.key, outcome: given.outcome, given: true, at: this.snapshot.now });
    }
    const signal = await this.nextSignal();
    if (signal) ready.push(signal);
    // The sort is stable: at the same time, a stored step comes before a timer of this turn, and a signal comes last.
    return ready.sort((a, b) => a.at.getTime() - b.at.getTime())[0] ?? null;
  }

  private itemsOf(step: ReadyStep): Item[] {
    if (this.over.has(step.key)) return [];
    const { key, kind, outcome, outcomeAt, dueAt } = step;
    if (outcome && outcomeAt) return [{ is: 'outcome', key, outcome, given: false, at: outcomeAt }];
    return kind === 'timer' && dueAt && dueAt <= this.snapshot.now ? [{ is: 'timer', key, at: dueAt }] : [];
  }

  private isOpen(key: string): boolean {
    return this.state !== null && Object.hasOwn(this.state.open, key);
  }

  private async nextSignal(): Promise<Item | null> {
    if (!this.listens()) return null;
    this.signals ??= await this.readInbox();
    const signal = this.signals[this.unwanted];
    return signal ? { is: 'signal', index: this.unwanted, at: signal.receivedAt } : null;
  }

  /** Returns whether a task listens, and there may be a signal that it has not been offered. */
  private listens(): boolean {
    return this.looks && this.state !== null && Object.values(this.state.open).includes('event');
  }

  private async readInbox(): Promise<WaitingSignal[]> {
    const waiting = await readSignals(this.ctx, this.snapshot.id);
    const { given, snapshot } = this;
    if (given?.is !== 'event') return waiting;
    const { source, id: eventId } = given.event;
    return [...waiting, { source, eventId, event: given.event, sender: given.sender, receivedAt: snapshot.now }];
  }

  private async apply(item: Item): Promise<void> {
    const { definition } = this.snapshot;
    if (!this.state) return;
    const env = this.envAt(item.at);
    if (item.is === 'signal') return await this.offer(item.index, env);
    const outcome: Outcome = item.is === 'timer' ? { ok: true, value: null } : item.outcome;
    const transition = await resolve(definition, this.state, item.key, outcome, env);
    this.take(transition, item.is === 'timer' ? clock : runtime);
    if (item.is === 'outcome' && item.given) this.applied = true;
    // A step that was opened in this turn was never a row.
    if (!this.opened.delete(item.key)) this.over.set(item.key, outcome.ok ? 'done' : 'failed');
  }

  /** Delivers a signal to listening tasks. A listener that this opens may accept an earlier signal. */
  private async offer(index: number, env: Env): Promise<void> {
    const signal = this.signals?.[index];
    if (!signal || !this.state) return;
    const { definition } = this.snapshot;
    const transition = await deliver(
      definition,
      this.state,
      signal.event,
      env,
      this.ctx.host.admits(definition, signal.sender),
    );
    if (!transition) {
      this.unwanted += 1;
      return;
    }
    this.take(transition, { kind: 'system', name: 'inbox' });
    this.signals?.splice(index, 1);
    this.unwanted = 0;
    if (this.given?.is === 'event' && isOf(signal, this.given.event)) this.applied = true;
    this.consumed.push({ source: signal.source, eventId: signal.eventId });
  }

  /** Counts the given event as applied when a task accepts it, though the turn had no time to deliver it. */
  private async look(): Promise<void> {
    const { given, state, snapshot } = this;
    if (given?.is !== 'event' || this.applied || !state) return;
    const admits = this.ctx.host.admits(snapshot.definition, given.sender);
    this.applied = (await deliver(snapshot.definition, state, given.event, this.envAt(snapshot.now), admits)) !== null;
  }

  private take(transition: Transition, actor: Actor): void {
    const late = this.snapshot.now.getTime() - this.at.getTime();
    for (const key of transition.close) if (!this.opened.delete(key)) this.over.set(key, 'closed');
    const meetsWorld = transition.open.some(({ kind }) => kind !== 'timer');
    for (const step of transition.open) {
      this.opened.set(step.key, this.dated(step, meetsWorld ? late : 0));
      if (step.kind === 'event') {
        this.looks = true;
        this.unwanted = 0;
      }
    }
    for (const entry of entriesOf(this.snapshot, transition, actor)) this.entries.push(entry);
    this.state = transition.state;
    this.last = transition;
  }

  /** Returns a step with its due time. */
  private dated(step: Step, late: number): Step {
    // A computation that paused continues at the present time. At the time that the execution has reached, it would always come
    // before everything that has arrived.
    if (isContinuation(step)) return { ...step, dueAt: this.snapshot.now.toISOString() };
    return startingNow(step, late);
  }

  /** Returns the environment of the machine at a time, which never goes back within a turn. */
  private envAt(at: Date): Env {
    if (at > this.at) this.at = at;
    return { ...this.env, now: this.at.toISOString() };
  }
}

/** Returns whether a signal is this event: source and id together identify one (CloudEvents 1.0, required attributes). */
function isOf(signal: WaitingSignal, event: CloudEvent): boolean {
  return signal.source === event.source && signal.eventId === event.id;
}

/**
 * Returns a step whose timeout starts when people and systems can respond, not while the execution waited for its turn.
 */
function startingNow(step: Step, late: number): Step {
  if (step.kind !== 'timer' || purposeOf(step) !== 'timeout' || step.dueAt === undefined || late <= 0) return step;
  return { ...step, dueAt: new Date(Date.parse(step.dueAt) + late).toISOString() };
}

/** Returns whether a step continues a computation that paused. */
export function isContinuation(step: Step): boolean {
  return step.kind === 'timer' && purposeOf(step) === 'continue';
}

function purposeOf(step: Step): unknown {
  return (step.request as { purpose?: unknown } | null)?.purpose;
}

/** Returns what the machine may know of its environment, as values. */
function environment(ctx: EngineContext, executionId: string, now: Date, startedAt: Date | null): Env {
  return {
    now: now.toISOString(),
    executionId,
    startedAt: (startedAt ?? now).toISOString(),
    evaluate: ctx.evaluate,
    runtime: { name: 'belay', version: ctx.program.version },
  };
}
