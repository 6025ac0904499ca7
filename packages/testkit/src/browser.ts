/** The parts of a browser that a sign-in needs: cookies of one host, and redirects that are followed within one origin. */
export interface Browser {
  open(url: string | URL, form?: Record<string, string>, headers?: Record<string, string>): Promise<Visit>;
}

export interface Visit {
  /** The target of the last redirect, when that is at another origin; otherwise the address of the page. */
  url: URL;
  left: boolean;
  status: number;
  headers: Headers;
  body: string;
}

export function openBrowser(): Browser {
  const cookies = new Map<string, { value: string; path: string }>();
  const cookiesFor = (url: URL) =>
    [...cookies]
      .filter(
        ([, { path }]) => url.pathname === path || url.pathname.startsWith(path.endsWith('/') ? path : `${path}/`),
      )
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ');
  const keep = (lines: string[]) => {
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      const path = /;\s*path=([^;]+)/i.exec(line)?.[1] ?? '/';
      if (value === '') cookies.delete(name);
      else cookies.set(name, { value, path });
    }
  };
  return {
    async open(address, form, headers = {}) {
      const { origin } = new URL(address);
      let url = new URL(address);
      let body = form && new URLSearchParams(form);
      for (let hop = 0; hop < 10; hop++) {
        const response = await fetch(url, {
          method: body ? 'POST' : 'GET',
          redirect: 'manual',
          headers: { ...headers, cookie: cookiesFor(url) },
          ...(body ? { body } : {}),
        });
        keep(response.headers.getSetCookie());
        const location = response.headers.get('location');
        const text = await response.text();
        if (location === null)
          return { url, left: false, status: response.status, headers: response.headers, body: text };
        url = new URL(location, url);
        body = undefined;
        if (url.origin !== origin)
          return { url, left: true, status: response.status, headers: response.headers, body: text };
      }
      throw new Error('Too many redirects');
    },
  };
}
