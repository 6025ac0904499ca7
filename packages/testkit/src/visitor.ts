import { openBrowser } from './browser.js';
import { type Answer, send } from './serve.js';

export interface Visit extends Answer {
  location: string;
  json: Record<string, unknown>;
}

/** Returns a browser for Belay: it keeps cookies, sends Sec-Fetch-Site, and follows no redirects. */
export function openVisitor(url: string) {
  const cookies = new Map<string, string>();
  async function visit(
    path: string,
    options: { method?: string; body?: object; site?: string; accept?: string } = {},
  ): Promise<Visit> {
    const body = options.body === undefined ? undefined : JSON.stringify(options.body);
    const answer = await send(path.startsWith('http') ? path : `${url}/api/v1${path}`, {
      method: options.method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        accept: options.accept ?? 'application/json',
        'sec-fetch-site': options.site ?? 'same-origin',
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
      },
      ...(body === undefined ? {} : { body }),
    });
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    const isJson = String(answer.headers['content-type']).startsWith('application/json');
    return {
      ...answer,
      location: String(answer.headers.location ?? ''),
      json: isJson && answer.body !== '' ? (JSON.parse(answer.body) as Visit['json']) : {},
    };
  }
  return {
    visit,
    cookies,
    /** Signs in at a provider's address as `subject`, and returns the address of our callback to which the provider redirects. */
    async prove(address: string, subject: string): Promise<string> {
      const provider = openBrowser();
      const page = await provider.open(address);
      return (await provider.open(page.url, { subject })).url.href;
    },
    /** Approves the sign-in of a program on its page. Returns the address of the program, with the code. */
    async letProgram(asked: string): Promise<URL> {
      const request = new URL(asked).searchParams.get('request') ?? '';
      const { location } = await visit('/auth/program', { body: { request, verdict: 'approve' } });
      return new URL(location);
    },
    /** Signs a person in, from a page of ours unless `site` states another. */
    async signIn(provider: string, subject: string, site = 'same-origin'): Promise<Visit> {
      const begun = await visit(`/auth/request/${provider}`, { site });
      return visit(await this.prove(begun.location, subject), { site: 'cross-site' });
    },
  };
}
