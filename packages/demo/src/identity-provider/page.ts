import { createHash } from 'node:crypto';
import type { DemoAccount } from './people.js';

const style = `
:root{color-scheme:light dark;--line:#8a8f98;--accent:#1f5fbf}
body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:3rem auto;padding:0 1rem}
ul{list-style:none;padding:0}
form{margin:.75rem 0;padding:1rem;border:1px solid var(--line);border-radius:.5rem}
button{font:inherit;font-weight:600;padding:.5rem 1rem;min-height:2.75rem;border:2px solid var(--accent);border-radius:.375rem;background:var(--accent);color:#fff;cursor:pointer}
button:focus-visible,input:focus-visible{outline:3px solid;outline-offset:2px}
input{font:inherit;padding:.5rem;min-height:1.5rem}
label{display:block;margin-bottom:.5rem}
p.about{margin:.5rem 0 0}
`;
const styleDigest = createHash('sha256').update(style).digest('base64');

/** A page with the headers that it must be sent with. */
export interface Page {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/**
 * Returns the page on which a person chooses who signs in. `destinations` are the origins to which the form's response redirects: browsers
 * apply the policy's `form-action` to redirects as well.
 */
export function signInPage(people: readonly DemoAccount[], destinations: readonly string[], fault?: string): Page {
  const list = people.map(
    (person, index) => `<li><form method="post">
<input type="hidden" name="subject" value="${toHtml(person.subject)}">
${person.password === undefined ? '' : `<label for="password-${index}">Password of ${toHtml(person.name)}</label><p><input id="password-${index}" type="password" name="password" autocomplete="current-password" required></p>`}
<button type="submit" aria-describedby="about-${index}">Sign in as ${toHtml(person.name)}</button>
<p class="about" id="about-${index}">${toHtml(person.email)}; ${describeGroups(person.groups)}</p>
</form></li>`,
  );
  const title = 'Sign in to the Belay demo';
  return page(fault === undefined ? 200 : 403, title, destinations, [
    fault === undefined ? '' : `<p role="alert"><strong>${toHtml(fault)}</strong></p>`,
    '<p>These people are fictional, and this identity provider runs on this machine only. Choose a person to sign in as.</p>',
    `<ul>\n${list.join('\n')}\n</ul>`,
  ]);
}

/** Returns a page with only an error message. */
export function messagePage(status: number, message: string): Page {
  return page(status, 'Sign-in failed', [], [`<p>${toHtml(message)}</p>`]);
}

function page(status: number, title: string, destinations: readonly string[], content: string[]): Page {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${styleDigest}'`,
    `form-action 'self' ${destinations.join(' ')}`.trim(),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy.join('; '),
      'cache-control': 'no-store',
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    },
    body: `<!doctype html>
<html lang="en-GB">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${content.join('\n')}
</main>
</body>
</html>
`,
  };
}

function describeGroups(groups: readonly string[]): string {
  if (groups.length === 0) return 'in no group';
  return `in ${groups.length === 1 ? 'the group' : 'the groups'} ${groups.map(toHtml).join(', ')}`;
}

function toHtml(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
