// The palette: the page /search in a dialog, for the keyboard. It shows the results of that page, so that there is only one search.
// @ts-check

const settle = 120;

/** @type {HTMLDialogElement | undefined} */
let dialog;
let timer = 0;
/** @type {AbortController | undefined} */
let asking;

/** Opens the palette, or closes it when it is open. */
export function open() {
  dialog ??= create();
  if (dialog.open) {
    dialog.close();
    return;
  }
  dialog.showModal();
  const field = fieldOf(dialog);
  field.value = '';
  field.focus();
  void look('');
}

/** @param {HTMLDialogElement} of */
function fieldOf(of) {
  return /** @type {HTMLInputElement} */ (of.querySelector('input'));
}

function create() {
  const made = document.createElement('dialog');
  made.className = 'palette';
  const link = /** @type {HTMLElement | null} */ (document.querySelector('[data-palette]'));
  const label = link?.dataset.label ?? '';
  made.setAttribute('aria-label', label);
  const bar = document.createElement('div');
  bar.className = 'palette-field';
  const icon = link?.querySelector('.icon')?.cloneNode(true);
  const field = document.createElement('input');
  Object.assign(field, { type: 'text', placeholder: label, autocomplete: 'off' });
  for (const [name, value] of Object.entries({
    role: 'combobox',
    'aria-label': label,
    'aria-expanded': 'true',
    'aria-controls': 'palette-found',
    'aria-autocomplete': 'list',
  })) {
    field.setAttribute(name, value);
  }
  const found = document.createElement('div');
  found.className = 'found';
  found.id = 'palette-found';
  const hint = document.createElement('kbd');
  hint.textContent = 'Esc';
  hint.setAttribute('aria-hidden', 'true');
  bar.append(...(icon ? [icon] : []), field, hint);
  made.append(bar, found);
  field.addEventListener('input', () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void look(field.value), settle);
  });
  field.addEventListener('keydown', onKey);
  made.addEventListener('click', (event) => {
    if (event.target === made) made.close();
  });
  document.body.append(made);
  return made;
}

/** @param {string} words */
async function look(words) {
  const found = document.getElementById('palette-found');
  if (found === null) return;
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  if (found.childElementCount === 0) found.append(...[1, 2, 3, 4].map(skeleton));
  try {
    const address = `/search?${new URLSearchParams({ q: words })}`;
    const answer = await fetch(address, { headers: { accept: 'text/html' }, redirect: 'manual', signal: mine.signal });
    if (!answer.ok) {
      location.assign(address);
      return;
    }
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('main .found');
    found.replaceChildren(
      ...(fresh === null ? [] : [...fresh.childNodes].map((node) => document.importNode(node, true))),
    );
    linksOf(found).forEach((link, index) => {
      link.id = `found-${index}`;
      link.setAttribute('role', 'option');
      link.tabIndex = -1;
    });
    for (const list of found.querySelectorAll('ul')) list.setAttribute('role', 'listbox');
    for (const item of found.querySelectorAll('li')) item.setAttribute('role', 'presentation');
    select(0);
  } catch {
    // Offline for a moment; the search page shows the error.
    if (!mine.signal.aborted) location.assign('/search');
  }
}

function skeleton() {
  const line = document.createElement('span');
  line.className = 'skeleton';
  return line;
}

/** @param {Element} found */
function linksOf(found) {
  return /** @type {HTMLAnchorElement[]} */ ([...found.querySelectorAll('a')]);
}

/** @param {number} index */
function select(index) {
  const found = document.getElementById('palette-found');
  if (found === null || dialog === undefined) return;
  const links = linksOf(found);
  const field = fieldOf(dialog);
  field.removeAttribute('aria-activedescendant');
  links.forEach((link, place) => {
    const selected = place === index;
    link.setAttribute('aria-selected', String(selected));
    if (!selected) return;
    field.setAttribute('aria-activedescendant', link.id);
    link.scrollIntoView({ block: 'nearest' });
  });
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  const found = document.getElementById('palette-found');
  if (found === null) return;
  const links = linksOf(found);
  const now = links.findIndex((link) => link.getAttribute('aria-selected') === 'true');
  if (event.key === 'ArrowDown') select(Math.min(now + 1, links.length - 1));
  else if (event.key === 'ArrowUp') select(Math.max(now - 1, 0));
  else if (event.key === 'Enter') links[now]?.click();
  else return;
  event.preventDefault();
}
