// Makes a page live: it follows an execution over server-sent events or fetches the page every few seconds, replaces the parts that
// changed, updates the times, and announces news to screen readers. Every page is complete without it.
// @ts-check
import { leftInWords, relativeInWords } from './words.js';

/** Events arrive in groups. One refresh is enough for a group, this many milliseconds after its last event. */
const settle = 150;
/** A proxy can cut a stream without an error, so the page is also fetched at this interval, in milliseconds. */
const withStream = 15_000;

const main = document.querySelector('main');
/** The live region for announcements; it also contains the texts of this script. */
const news = document.getElementById('news');
const skew = Date.parse(document.documentElement.dataset.now ?? '') - Date.now() || 0;
let busy = false;
let again = false;

function tick() {
  const now = Date.now() + skew;
  for (const element of document.querySelectorAll('[data-left]')) {
    write(element, leftInWords(Date.parse(element.getAttribute('data-left') ?? '') - now));
  }
  for (const element of document.querySelectorAll('[data-relative]')) {
    write(element, relativeInWords(Date.parse(element.getAttribute('data-relative') ?? '') - now));
  }
  for (const element of document.querySelectorAll('[data-ends]')) warn(element, now);
}

/** Shows and announces that access ends soon: 15 and 5 minutes before. @param {Element} element @param {number} now */
function warn(element, now) {
  const left = Date.parse(element.getAttribute('data-ends') ?? '') - now;
  const minutes = [5, 15].find((each) => left > 0 && left <= each * 60_000);
  const text = minutes === undefined ? '' : (element.getAttribute(`data-within-${minutes}`) ?? '');
  if (element.textContent === text) return;
  element.textContent = text;
  element.toggleAttribute('hidden', text === '');
  if (text !== '') announce(text);
}

/** @param {Element} element @param {string} text */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Fetches this page again and shows the changes. */
async function refresh() {
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' }, redirect: 'manual' });
    if (answer.type === 'opaqueredirect') return stop(news?.dataset.signedOut ?? '');
    if (!answer.ok) return;
    takeOver(new DOMParser().parseFromString(await answer.text(), 'text/html'));
  } catch {
    // Offline for a moment; the next refresh tries again.
  } finally {
    busy = false;
    if (again) {
      again = false;
      void refresh();
    }
  }
}

/** @param {Document} fresh */
function takeOver(fresh) {
  const said = sayings(document);
  for (const region of document.querySelectorAll('[data-region]')) {
    const next = fresh.getElementById(region.id);
    if (next === null || comparable(region) === comparable(next) || isInUse(region)) continue;
    swap(region, /** @type {HTMLElement} */ (document.importNode(next, true)));
  }
  document.title = fresh.title;
  const fresher = fresh.querySelector('main');
  if (main !== null && fresher !== null) {
    main.dataset.watch = fresher.dataset.watch ?? '';
    main.dataset.every = fresher.dataset.every ?? '';
  }
  const unsaid = sayings(document).filter((text) => !said.includes(text));
  if (unsaid.length > 0) announce(unsaid.join('. '));
  tick();
  follow();
}

/** @param {Element} old @param {HTMLElement} next */
function swap(old, next) {
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const open = [...old.querySelectorAll('details[open]')].map(({ id }) => id);
  next.classList.add('changed');
  old.replaceWith(next);
  for (const id of open) document.getElementById(id)?.setAttribute('open', '');
  if (focused === null) return;
  const twin = /** @type {HTMLElement | null} */ (
    focused.id === '' ? twinOf(focused, old, next) : document.getElementById(focused.id)
  );
  if (twin === null) next.tabIndex = -1;
  (twin ?? next).focus({ preventScroll: true });
}

/**
 * Returns the control with the same text in the new part. If several have that text, it returns null, because a key
 * could press the wrong button.
 * @param {Element} focused @param {Element} old @param {Element} next
 */
function twinOf(focused, old, next) {
  const alike = (/** @type {Element} */ part) =>
    [...part.querySelectorAll(focused.tagName)].filter(({ textContent }) => textContent === focused.textContent);
  const [twin = null, ...more] = alike(next);
  return alike(old).length === 1 && more.length === 0 ? twin : null;
}

/** Returns the markup without the parts that change only with time. @param {Element} element */
function comparable(element) {
  const copy = /** @type {Element} */ (element.cloneNode(true));
  copy.classList.remove('changed');
  if (copy.getAttribute('class') === '') copy.removeAttribute('class');
  copy.removeAttribute('tabindex');
  for (const timed of copy.querySelectorAll('[data-left], [data-relative], [data-moment]')) {
    timed.textContent = '';
    timed.removeAttribute('title');
  }
  for (const bar of copy.querySelectorAll('progress')) {
    bar.removeAttribute('value');
    bar.className = '';
  }
  // An idempotency key is different each time.
  for (const hidden of copy.querySelectorAll('input[type=hidden]')) hidden.removeAttribute('value');
  for (const folded of copy.querySelectorAll('details')) folded.removeAttribute('open');
  return copy.outerHTML;
}

/** Returns whether the viewer is typing or has selected something in a region, so that it must not be replaced. @param {Element} region */
function isInUse(region) {
  const chosen = [...region.querySelectorAll('select')].some(({ options, selectedIndex }) => {
    // Without a default in the markup, the first option is the default.
    const usual = [...options].findIndex(({ defaultSelected }) => defaultSelected);
    return selectedIndex !== Math.max(0, usual);
  });
  if (chosen) return true;
  const fields = [...region.querySelectorAll('textarea, input:not([type=hidden])')];
  return fields.some(
    (field) =>
      field === document.activeElement ||
      (field instanceof HTMLInputElement && field.type === 'checkbox'
        ? field.checked
        : /** @type {HTMLInputElement} */ (field).value !== ''),
  );
}

/** @param {Document} document */
function sayings(document) {
  return [...document.querySelectorAll('[data-say]')].map((element) => element.textContent?.trim() ?? '');
}

/** @param {string} text */
function announce(text) {
  if (news !== null) news.textContent = text;
}

/** @type {{ close(): void } | undefined} */
let following;
let followed = '';

/** @param {string} text */
function stop(text) {
  following?.close();
  following = undefined;
  followed = 'nothing';
  announce(text);
}

function follow() {
  const id = main?.dataset.watch ?? '';
  const every = Number(main?.dataset.every ?? 0);
  const wanted = id === '' ? String(every) : id;
  if (wanted === followed || followed === 'nothing') return;
  following?.close();
  followed = wanted;
  const timers = [];
  if (every > 0 || id !== '') {
    const period = id === '' ? every * 1000 : withStream;
    timers.push(setInterval(() => document.visibilityState === 'visible' && void refresh(), period));
  }
  const stream = id === '' ? undefined : listen(id);
  following = {
    close() {
      stream?.close();
      for (const timer of timers) clearInterval(timer);
    },
  };
}

/** @param {string} id */
function listen(id) {
  const input = encodeURIComponent(JSON.stringify({ id }));
  const stream = new EventSource(`/trpc/executions.watch?input=${input}`);
  let timer = 0;
  const soon = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void refresh(), settle);
  };
  stream.addEventListener('message', soon);
  stream.addEventListener('return', () => {
    stream.close();
    soon();
  });
  return stream;
}

document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') void refresh();
});
window.addEventListener('pagehide', () => following?.close());
window.addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});
setInterval(tick, 1000);
tick();
follow();
