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

/** A span to open. Attributes contain ids and names of the configuration, and no secret, person or message. */
export interface Traced {
  name: string;
  /** The execution that the work is for, if any. */
  executionId: string | undefined;
  /** Whether the work is a request to another system. */
  client?: boolean;
  attributes: Attributes;
}

/**
 * Does work in a span of its execution's trace, and returns its result. An error is recorded by its code. Without a
 * registered SDK it only does the work.
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

/** Links the caller's span, if any, to the trace of an execution that it has started. */
export function linkExecution(executionId: string): void {
  const span = trace.getActiveSpan();
  span?.setAttribute('belay.execution.id', executionId).addLink({ context: spanContextOf(executionId) });
}

/**
 * Returns the trace context of an execution, whose trace id is its own id. So the work of different processes, even
 * days apart, is one trace without stored state. Its root span is never recorded.
 */
function spanContextOf(executionId: string): SpanContext {
  const traceId = executionId.replaceAll('-', '');
  return { traceId, spanId: traceId.slice(16), traceFlags: TraceFlags.SAMPLED, isRemote: true };
}

/**
 * Returns the trace context of an execution, or the root; never the context of the caller, because a worker changes from one
 * execution to the next.
 */
function contextOf(executionId: string | undefined): Context {
  return executionId === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, spanContextOf(executionId));
}

function markFailed(span: Span, code: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', code);
}

/** Returns the code of an error, or the name of its class, because a message can contain what a person wrote. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
