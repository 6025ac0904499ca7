import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestState } from '@belay/rest';
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';

const tracer = trace.getTracer('belay');

/**
 * Calls `answer` in a span that continues the trace of the client. The span contains the documented path, but never the address,
 * a header or the caller. Without a registered SDK it only calls `answer`.
 */
export function traceRequest(
  request: IncomingMessage,
  response: ServerResponse,
  state: RequestState,
  answer: () => void,
): void {
  const { method = '' } = request;
  const attributes = { 'http.request.method': method, 'belay.request.id': state.id };
  const parent = propagation.extract(context.active(), request.headers);
  tracer.startActiveSpan('HTTP', { kind: SpanKind.SERVER, attributes }, parent, (span) => {
    if (span.isRecording()) {
      response.once('close', () => {
        const status = response.writableFinished ? response.statusCode : 499;
        if (state.route !== undefined) {
          span.updateName(`${method} ${state.route}`).setAttribute('http.route', state.route);
        }
        span.setAttribute('http.response.status_code', status);
        if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', String(status));
        span.end();
      });
    }
    answer();
  });
}
