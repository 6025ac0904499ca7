/** The whole look: system fonts, light and dark by the reader's setting, visible focus, contrast above 4.5 to 1. */
export const stylesheet = `:root {
  color-scheme: light dark;
  --paper: #ffffff;
  --ink: #1b1f24;
  --quiet: #57606a;
  --line: #d0d7de;
  --accent: #0b57d0;
  --on-accent: #ffffff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a;
    --ink: #e8eaed;
    --quiet: #a3abb5;
    --line: #3a4149;
    --accent: #8ab4f8;
    --on-accent: #14171a;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 34rem; margin: 10vh auto; padding: 0 1.25rem; }
h1 { margin: 0 0 1rem; font-size: 1.5rem; line-height: 1.25; }
a { color: var(--accent); }
code { overflow-wrap: anywhere; }
.house, .quiet { color: var(--quiet); font-size: 0.875rem; }
.house { margin: 0 0 0.5rem; font-weight: 600; letter-spacing: 0.02em; }
.choices { margin: 0; padding: 0; list-style: none; }
.choices li { margin-bottom: 1rem; }
.choices p { margin: 0.25rem 0 0; }
button, .button {
  display: inline-block; padding: 0.625rem 1rem; border: 1px solid var(--accent); border-radius: 0.375rem;
  background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 600; text-decoration: none; cursor: pointer;
}
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
dl { margin: 0 0 1.5rem; border-top: 1px solid var(--line); }
dl div { display: flex; gap: 1rem; padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
dt { flex: 0 0 8rem; color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
`;
