/** Signs in as a browser does: keeps cookies, follows redirects, submits a person's form. */
export async function signInAsPerson(address, email) {
  const jar = new Map();

  async function visit(url, init = {}) {
    const cookies = jar.get(url.origin) ?? new Map();
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...init.headers, accept: 'text/html', cookie };
    const response = await fetch(url, { ...init, redirect: 'manual', headers });
    for (const line of response.headers.getSetCookie()) {
      const pair = line.split(';')[0];
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    jar.set(url.origin, cookies);
    const location = response.headers.get('location');
    if (!response.ok && location === null) throw new Error(`${url.origin}${url.pathname}: ${response.status}`);
    return location === null ? { url, body: await response.text() } : visit(new URL(location, url));
  }

  const page = await visit(new URL(address));
  const form = page.body.split('<form').find((part) => part.includes(email));
  const subject = /name="subject" value="([^"]*)"/.exec(form ?? '')?.[1];
  if (subject === undefined) throw new Error(`no sign-in form for ${email} at ${page.url}`);
  const submit = (url, fields) =>
    visit(url, { method: 'POST', body: new URLSearchParams(fields), headers: { origin: url.origin } });
  const signedIn = await submit(page.url, { subject });

  // The sign-in of a program is confirmed on a page of its own.
  const asked = signedIn.body.split('<form').find((part) => part.includes('name="request"'));
  if (asked === undefined) return;
  const hidden = [...asked.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(([, name, value]) => [
    name,
    value,
  ]);
  await submit(new URL(signedIn.url.pathname, signedIn.url), [...hidden, ['verdict', 'approve']]);
}
