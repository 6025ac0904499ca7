// The keys of the inbox. A key chooses a request or a button; only Enter decides, on a button that belongs to the request that
// is shown: when another takes its place meanwhile, the button has gone and so has the focus.
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

// What is open has an address, so that looking again shows the same request, and never the next one in its place.
const opened = document.querySelector('[data-approval]');
const address = new URL(location.href);
if (opened instanceof HTMLElement && !address.searchParams.has('id')) {
  address.searchParams.set('id', opened.dataset.approval ?? '');
  history.replaceState(history.state, '', address);
}
