import { send } from '@belay/testkit/serve';
import { createWorld, people, type World } from '@belay/testkit/world';
import { context, propagation, SpanStatusCode, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callRest } from './support/caller.js';

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });

let world: World;
let requester: string;
let approver: string;
beforeAll(async () => {
  provider.register();
  world = await createWorld();
  requester = await world.token('requester');
  approver = await world.token('approver');
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  for (const api of [trace, context, propagation]) api.disable();
  await provider.shutdown();
});
beforeEach(() => exporter.reset());

const reason = 'An incident that only approvers may read about';

async function elevate(headers: Record<string, string> = {}): Promise<string> {
  const asked = await callRest(world.url, 'POST', '/elevate', {
    token: requester,
    headers,
    body: { role: 'reader', reason },
  });
  await world.drive();
  return (asked.json.output as { execution_id: string }).execution_id;
}

async function approve(id: string): Promise<void> {
  const decided = await callRest(world.url, 'POST', `/approvals/${id}/decision`, {
    token: approver,
    body: { verdict: 'approve' },
  });
  expect(decided.status).toBe(200);
  await world.drive();
}

async function cancel(id: string): Promise<void> {
  await callRest(world.url, 'GET', `/execution/${id}/cancel`, { token: requester });
  await world.drive();
}

const spans = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);

describe('tracing, with an SDK of the operator', () => {
  it('has one trace for each execution: its steps and the calls that it waits for, linked from the request', async () => {
    const id = await elevate();
    await approve(id);
    await cancel(id);
    const traceId = id.replaceAll('-', '');
    const [request] = spans('POST /elevate');
    expect(request?.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/elevate',
      'http.response.status_code': 200,
      'belay.execution.id': id,
    });
    expect(request?.links.map((link) => link.context.traceId)).toEqual([traceId]);
    expect(request?.spanContext().traceId).not.toBe(traceId);
    const mine = exporter.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId);
    const names = new Set(mine.map(({ name }) => name));
    // The request's own plan serves access.validate, and its start asks for the approval.
    expect([...names].sort()).toEqual(['provider grant', 'step access.grant']);
    // No execution waits for this revocation, so it has its own trace, which shares only the entitlement.
    const entitlement = spans('provider grant')[0]?.attributes['belay.entitlement.id'];
    expect(spans('provider revoke')[0]?.attributes).toEqual({
      'belay.provider': 'store',
      'belay.entitlement.id': entitlement,
    });
  });

  it('continues the trace that a client names', async () => {
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    await send(`${world.url}/api/v1/health`, { headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` } });
    await expect.poll(() => spans('GET /health')[0]?.spanContext().traceId).toBe(traceId);
    expect(spans('GET /health')[0]?.parentSpanContext?.spanId).toBe('00f067aa0ba902b7');
  });

  it('records an error by its code', async () => {
    world.store.inject('ensurePresent', { kind: 'throttle' });
    const id = await elevate();
    await approve(id);
    const failed = spans('provider grant').filter(({ status }) => status.code === SpanStatusCode.ERROR);
    expect(failed.map(({ attributes }) => attributes['error.type'])).toEqual(['Retryable']);
    await cancel(id);
  });

  it('exports no secret, no person and nothing that a person wrote', async () => {
    const id = await elevate();
    await approve(id);
    await cancel(id);
    const exported = JSON.stringify(
      exporter
        .getFinishedSpans()
        .map(({ name, attributes, events, links, status }) => ({ name, attributes, events, links, status })),
    );
    expect(exported).toContain('step access.grant');
    for (const text of [requester, approver, reason, ...Object.values(people).map(({ email }) => email)]) {
      expect(exported).not.toContain(text);
    }
  });
});
