import { Agent, request } from 'node:http';
import { isApproved, type Shape } from '../shapes.js';

/** A call of an elevation, as `statements` names it. */
export type Call =
  | 'POST /elevate'
  | 'GET /execution/{id}?until=approval'
  | 'POST /approvals/{id}/decision'
  | 'GET /execution/{id}?until=active'
  | 'POST /access/{id}/return'
  | 'GET /execution/{id}?until=ended';

export interface HttpElevation {
  /** The address of the interface, with its base path. */
  url: string;
  /** The token of the requester, and that of the approver. */
  tokens: { requester: string; approver: string };
  shape: Shape;
  /** Called before each call. */
  act?: ((call: Call) => void) | undefined;
}

const agent = new Agent({ keepAlive: true });

/**
 * Performs one complete elevation over HTTP, and waits with `until`: requested, decided where the shape has an approval, active, given back,
 * gone. Throws for every response but 200, and for a wait that was over before the state was reached.
 */
export async function elevateOverHttp({ url, tokens, shape, act = () => {} }: HttpElevation): Promise<void> {
  const { requester, approver } = tokens;
  act('POST /elevate');
  const requested = (await send(`${url}/elevate`, requester, {
    role: { name: 'reader' },
    workflow: shape,
    reason: 'a benchmark',
  })) as { output: { execution_id: string } };
  const id = requested.output.execution_id;
  const wait = async (until: 'approval' | 'active' | 'ended', reached: string) => {
    act(`GET /execution/{id}?until=${until}`);
    const { state } = (await send(`${url}/execution/${id}?until=${until}`, requester)) as { state: string };
    if (state !== reached) throw new Error(`An execution is ${state}, not ${reached}, after the wait`);
  };
  if (isApproved(shape)) {
    await wait('approval', 'waiting_for_approval');
    act('POST /approvals/{id}/decision');
    await send(`${url}/approvals/${id}/decision`, approver, { verdict: 'approve' });
  }
  await wait('active', 'active');
  act('POST /access/{id}/return');
  await send(`${url}/access/${id}/return`, requester, {});
  await wait('ended', 'ended');
}

/** Makes a GET request, or a POST request with a body, and returns the response's JSON. Rejects for every status but 200. */
function send(url: string, token: string, body?: object): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  const text = body === undefined ? undefined : JSON.stringify(body);
  const options =
    text === undefined
      ? { agent, headers }
      : {
          agent,
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
        };
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (response) => {
      const parts: string[] = [];
      response.setEncoding('utf8');
      response.on('data', (part: string) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        const answer = parts.join('');
        if (response.statusCode === 200) resolve(JSON.parse(answer));
        else reject(new Error(`${url} answered ${response.statusCode}: ${answer}`));
      });
    });
    sent.on('error', reject);
    sent.end(text);
  });
}
