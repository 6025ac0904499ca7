import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import { messagePage, type Page, signInPage } from './page.js';
import { type DemoAccount, recognisePerson } from './people.js';

export const interactionPath = /^\/interaction\/[A-Za-z0-9_-]+$/;

const mostBytes = 4096;

export interface Interaction {
  provider: Provider;
  issuer: string;
  people: readonly DemoAccount[];
  /** The origins that a sign-in can redirect to. */
  destinations: readonly string[];
  now: () => number;
}

/** Shows the people to choose from (GET), and signs in the chosen person (POST). Also responds to invalid requests. */
export async function answerInteraction(
  { provider, issuer, people, destinations, now }: Interaction,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'POST') {
    response.setHeader('allow', 'GET, POST');
    return send(response, messagePage(405, 'The sign-in page accepts GET and POST only.'));
  }
  const current = await provider.interactionDetails(request, response).catch(() => undefined);
  if (current === undefined || `/interaction/${current.uid}` !== pathOf(request) || current.prompt.name !== 'login') {
    return send(
      response,
      messagePage(400, 'The sign-in has expired or was started in another browser. Please start again.'),
    );
  }
  if (request.method === 'GET') return send(response, signInPage(people, destinations));
  const { origin } = request.headers;
  if (origin !== undefined && origin !== issuer) {
    return send(response, messagePage(403, 'Cross-origin requests are not allowed.'));
  }
  const form = await readForm(request);
  if (form === undefined) return send(response, messagePage(400, 'The form is not valid.'));
  const person = recognisePerson(people, form.get('subject') ?? '', form.get('password') ?? '');
  if (!person) return send(response, signInPage(people, destinations, 'The person or the password is wrong.'));
  // The browser may have another person's session, which the provider itself could end only with a script on a page.
  if (current.session) {
    const before = await provider.Session.findByUid(current.session.uid);
    await before?.destroy();
    delete current.session;
    await current.save(current.exp - Math.floor(now() / 1000));
  }
  await provider.interactionFinished(
    request,
    response,
    { login: { accountId: person.subject, remember: false } },
    { mergeWithLastSubmission: false },
  );
}

export function send(response: ServerResponse, page: Page): void {
  response.writeHead(page.status, page.headers).end(page.body);
}

export function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?', 1)[0] ?? '';
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams | undefined> {
  if (!request.headers['content-type']?.startsWith('application/x-www-form-urlencoded')) return undefined;
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk;
    if (body.length > mostBytes) return undefined;
  }
  return new URLSearchParams(body);
}
