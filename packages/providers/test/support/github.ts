import { findFreePort } from '@belay/host';
import { createEmulator } from 'emulate';
import { parse } from './form.js';

export interface GitHubUser {
  login: string;
  name: string;
  email: string;
}

/** Starts the sign-in of GitHub on a port of its own: its pages, its responses, and its errors with status 200. */
export async function openGitHub(options: {
  users: GitHubUser[];
  orgs?: Record<string, string[]>;
  redirectUri: string;
}) {
  const client = { client_id: 'belay', client_secret: 'the-secret-of-belay' };
  const port = await findFreePort('127.0.0.1');
  const url = `http://127.0.0.1:${port}`;
  const orgs = Object.entries(options.orgs ?? {}).map(([login, members]) => ({
    login,
    members: members.map((member) => ({ login: member })),
  }));
  const oauth_apps = [{ ...client, name: 'Belay', redirect_uris: [options.redirectUri] }];
  const emulator = await createEmulator({
    service: 'github',
    port,
    baseUrl: url,
    seed: { github: { users: options.users, orgs, oauth_apps } },
  });
  return {
    url,
    config: {
      preset: 'github',
      ...client,
      authorization_endpoint: `${url}/login/oauth/authorize`,
      token_endpoint: `${url}/login/oauth/access_token`,
      userinfo_endpoint: `${url}/user`,
      emails_endpoint: `${url}/user/emails`,
    },
    /** Presses the button of a person on the page at `address`. Returns the address to which the browser is redirected. */
    async press(address: string | URL, login: string): Promise<URL> {
      const page = await (await fetch(address)).text();
      const form = parse(page).find(({ fields }) => fields.login === login);
      if (!form) throw new Error(`There is no button for ${login}: ${page.slice(0, 300)}`);
      const body = new URLSearchParams(form.fields);
      const response = await fetch(new URL(form.action, url), { method: 'POST', body, redirect: 'manual' });
      return new URL(response.headers.get('location') ?? '');
    },
    close: () => emulator.close(),
  };
}
