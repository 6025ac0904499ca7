// The keys of the inbox. A key selects a request or a button. Only Enter decides, and only on a button of the request that is shown: when
// another request replaces it, the button and the focus disappear.
// @ts-check

/** @param {KeyboardEvent} event */
function isTyping({ target }) {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** @param {number} step */
function move(step) {
  const links = [...document.querySelectorAll('#inbox .row-title a')];
  const now = links.findIndex((link) => link.getAttribute('aria-current') === 'true');
  const next = links[now < 0 ? 0 : now + step];
  if (next instanceof HTMLAnchorElement) location.assign(next.href);
}

/** @param {'approve' | 'deny'} verdict */
function choose(verdict) {
  const opened = document.querySelector('[data-approval]');
  const id = opened instanceof HTMLElement ? opened.dataset.approval : undefined;
  document.getElementById(`${verdict}-${id}`)?.focus();
}

/** @type {Readonly<Record<string, () => void>>} */
const keys = {
  j: () => move(1),
  k: () => move(-1),
  a: () => choose('approve'),
  d: () => choose('deny'),
  c: () => document.getElementById('comment-text')?.focus(),
  '?': () => document.getElementById('keys')?.togglePopover(),
};

document.addEventListener('keydown', (event) => {
  if (document.documentElement.dataset.keys === 'off') return;
  if (event.metaKey || event.ctrlKey || event.altKey || event.repeat || isTyping(event)) return;
  const act = keys[event.key];
  if (act === undefined) return;
  event.preventDefault();
  act();
});

// The open request is in the address, so that a refresh shows the same request and never the next one in its place.
const opened = document.querySelector('[data-approval]');
const address = new URL(location.href);
if (opened instanceof HTMLElement && !address.searchParams.has('id')) {
  address.searchParams.set('id', opened.dataset.approval ?? '');
  history.replaceState(history.state, '', address);
}
