/**
 * Signs in as a person of the demo as a browser does: keeps cookies, follows redirects, submits the person's form. Resolves to a function
 * that opens a page with a form as that person, and submits it.
 */
export async function signInThroughDemo(
  address: string,
  email: string,
): Promise<(form: URL, fields: Record<string, string>) => Promise<{ status: number; body: string }>> {
  const jar = new Map<string, Map<string, string>>();

  async function visit(url: URL, init: RequestInit = {}): Promise<{ url: URL; body: string; status: number }> {
    const cookies = jar.get(url.origin) ?? new Map<string, string>();
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { ...init.headers, accept: 'text/html', cookie },
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const cut = pair.indexOf('=');
      cookies.set(pair.slice(0, cut), pair.slice(cut + 1));
    }
    jar.set(url.origin, cookies);
    const location = response.headers.get('location');
    if (location === null) return { url, body: await response.text(), status: response.status };
    await response.body?.cancel();
    return visit(new URL(location, url));
  }

  /** Presses the button of the page that asks whether a program may sign in. */
  async function letProgram(asked: { url: URL; body: string }) {
    const form = asked.body.split('<form').find((part) => part.includes('name="request"'));
    const fieldOf = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(form ?? '')?.[1] ?? '';
    const fields = { csrf_token: fieldOf('csrf_token'), request: fieldOf('request'), verdict: 'approve' };
    return visit(new URL(asked.url.pathname, asked.url), {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { origin: asked.url.origin, 'sec-fetch-site': 'same-origin' },
    });
  }

  const page = await visit(new URL(address));
  const form = page.body.split('<form').find((part) => part.includes(email));
  const subject = /name="subject" value="([^"]*)"/.exec(form ?? '')?.[1];
  if (subject === undefined) throw new Error(`no form for ${email} at ${page.url}: ${page.status} ${page.body}`);
  const body = new URLSearchParams({ subject });
  const asked = await visit(page.url, { method: 'POST', body, headers: { origin: page.url.origin } });
  const end = asked.url.pathname === '/api/v1/auth/program' ? await letProgram(asked) : asked;
  if (end.status !== 200) throw new Error(`the sign-in ended at ${end.url} with ${end.status}: ${end.body}`);
  return async (form, fields) => {
    const { body: html, url } = await visit(form);
    // Each form has its own token: use the one of the form that posts to this page.
    const own = html.split('<form').find((part) => part.includes(`action="${url.pathname}"`));
    const token = /name="csrf_token" value="([^"]*)"/.exec(own ?? '')?.[1] ?? '';
    return visit(new URL(url.pathname, url), {
      method: 'POST',
      body: new URLSearchParams({ ...fields, csrf_token: token }),
      headers: { origin: url.origin, 'sec-fetch-site': 'same-origin' },
    });
  };
}
