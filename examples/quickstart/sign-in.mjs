// Signs in as a program does for a person: the authorization code flow with PKCE (RFC 7636, RFC 8252). The program listens on this machine;
// the person's browser goes through the identity provider and comes back with a code; and the program exchanges the code for a bearer
// token. `playBrowser` at the end takes the place of the person and the browser.
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { createClient } from '@belay/sdk';

/** Signs in a person of the demo and returns a client that calls Belay as that person. */
export async function signIn({ baseUrl, provider, person }) {
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');

  // The browser comes back to a port of this machine that is open only for this sign-in.
  const { callback, code, close } = await waitForCallback();
  try {
    const begin = new URL(`${baseUrl}/api/v1/auth/request/${provider}`);
    begin.searchParams.set('callback', callback);
    begin.searchParams.set('code_challenge', challenge);
    begin.searchParams.set('code_challenge_method', 'S256');
    // The person reads this description before they let the program sign in.
    begin.searchParams.set('label', 'the quickstart example');
    // A command line would open the person's browser here.
    await playBrowser(begin, person);
    const anonymous = createClient({ url: baseUrl });
    const { token } = await anonymous.auth.exchange({ code: await code, code_verifier: verifier });
    return createClient({ url: baseUrl, token });
  } finally {
    close();
  }
}

/** Listens on a free port of the loopback interface for the browser that brings the code. */
async function waitForCallback() {
  let arrived;
  const code = new Promise((resolve) => {
    arrived = resolve;
  });
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url, 'http://127.0.0.1');
    response.end('You are signed in. You can close this window.');
    if (searchParams.has('code')) arrived(searchParams.get('code'));
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { callback: `http://127.0.0.1:${server.address().port}/callback`, code, close };
}

/** Plays a simple browser: it follows redirects, keeps cookies, chooses the person, and confirms the program. */
async function playBrowser(start, person) {
  const cookies = new Map();

  async function go(url, form) {
    const response = await fetch(url, {
      method: form ? 'POST' : 'GET',
      body: form,
      redirect: 'manual',
      headers: {
        accept: 'text/html',
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(form ? { origin: url.origin } : {}),
      },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      if (value === '' || /expires=Thu, 01 Jan 1970/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  }

  let url = new URL(start);
  let form;
  for (let step = 0; step < 20; step++) {
    const response = await go(url, form);
    form = undefined;
    const location = response.headers.get('location');
    if (location !== null) {
      url = new URL(location, url);
      continue;
    }
    const page = await response.text();
    if (!response.ok)
      throw new Error(`The sign-in of ${person.name} ended at ${url.origin}${url.pathname}: ${response.status}`);
    const forms = [...page.matchAll(/<form method="post"[\s\S]*?<\/form>/g)].map(([html]) => html);
    const fieldOf = (html, name) => new RegExp(`name="${name}" value="([^"]+)"`).exec(html)?.[1];
    const consent = forms.find((html) => html.includes('name="request"'));
    const choice = forms.find((html) => html.includes('name="subject"') && html.includes(person.name));
    if (consent !== undefined) {
      // Belay's page shows which program wants to sign in and where the code will go. A person reads it before they agree.
      const [csrf_token, request] = [fieldOf(consent, 'csrf_token'), fieldOf(consent, 'request')];
      form = new URLSearchParams({ csrf_token, request, verdict: 'approve' });
      url = new URL(url.pathname, url);
    } else if (choice !== undefined) {
      form = new URLSearchParams({ subject: fieldOf(choice, 'subject') });
    } else {
      return;
    }
  }
  throw new Error(`The sign-in of ${person.name} redirects in a loop`);
}
