import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';

const tracer = trace.getTracer('belay');

/** A span to be opened. Attributes carry ids and names of the configuration: no secret, no person, no message. */
export interface Traced {
  name: string;
  /** The execution that the work is for, when there is one. */
  executionId: string | undefined;
  /** Whether the work is a request to another system. */
  client?: boolean;
  attributes: Attributes;
}

/**
 * Does work in a span of its execution's trace, and returns what the work returns. An error is recorded by its code. Does
 * nothing but the work while no SDK is registered.
 */
export function traced<T>(
  { name, executionId, client = false, attributes }: Traced,
  work: (fail: (code: string) => void) => Promise<T>,
): Promise<T> {
  const options = {
    attributes: { ...attributes, ...(executionId === undefined ? {} : { 'belay.execution.id': executionId }) },
    kind: client ? SpanKind.CLIENT : SpanKind.INTERNAL,
  };
  return tracer.startActiveSpan(name, options, contextOf(executionId), async (span) => {
    try {
      return await work((code) => markFailed(span, code));
    } catch (error) {
      markFailed(span, codeOf(error));
      throw error;
    } finally {
      span.end();
    }
  });
}

/** Links the caller's span, when there is one, to the trace of an execution that it has started. */
export function linkExecution(executionId: string): void {
  const span = trace.getActiveSpan();
  span?.setAttribute('belay.execution.id', executionId).addLink({ context: spanContextOf(executionId) });
}

/**
 * The trace of an execution has the execution's id as its own, so that what different processes do for it, days apart, is one
 * trace without anything stored. Its root is a span that nobody records.
 */
function spanContextOf(executionId: string): SpanContext {
  const traceId = executionId.replaceAll('-', '');
  return { traceId, spanId: traceId.slice(16), traceFlags: TraceFlags.SAMPLED, isRemote: true };
}

/** Never the context of the caller: a worker goes from one execution to the next. */
function contextOf(executionId: string | undefined): Context {
  return executionId === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, spanContextOf(executionId));
}

function markFailed(span: Span, code: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', code);
}

/** The code of an error, or the name of its class; a message can carry what a person wrote. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
