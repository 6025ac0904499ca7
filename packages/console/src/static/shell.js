// The script of every page for a signed-in person: local times, progress bars of the time left, and keyboard shortcuts.
// @ts-check

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
const time = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const skew = Date.parse(document.documentElement.dataset.now ?? '') - Date.now() || 0;

/** Shows times in the reader's time zone, with UTC in a tooltip. */
function localise() {
  for (const element of document.querySelectorAll('time[data-moment]:not([title])')) {
    const at = new Date(element.getAttribute('datetime') ?? '');
    if (Number.isNaN(at.getTime())) continue;
    element.setAttribute('title', element.textContent ?? '');
    element.textContent = `${day.format(at)}, ${time.format(at)}`;
  }
}

function drain() {
  const now = Date.now() + skew;
  for (const bar of document.querySelectorAll('progress[data-until]')) {
    const progress = /** @type {HTMLProgressElement} */ (bar);
    progress.value = Math.max(0, Date.parse(progress.dataset.until ?? '') - now);
    progress.classList.toggle('short', progress.value / progress.max < 0.15);
  }
}

/** @param {KeyboardEvent} event */
function isTyping({ target }) {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

// Whether single keys are active is stored in this browser (WCAG 2.1.4); other scripts read it from the document.
const stored = 'belay-single-keys';
const root = document.documentElement;
try {
  if (localStorage.getItem(stored) === 'off') root.dataset.keys = 'off';
} catch {
  // Without storage, the keys are on.
}
const keySwitch = document.querySelector('label[data-keys]');
const keyBox = keySwitch?.querySelector('input');
if (keySwitch && keyBox) {
  keySwitch.removeAttribute('hidden');
  keyBox.checked = root.dataset.keys !== 'off';
  keyBox.addEventListener('change', () => {
    root.dataset.keys = keyBox.checked ? 'on' : 'off';
    try {
      localStorage.setItem(stored, root.dataset.keys);
    } catch {
      // Without storage, the choice is kept for this page only.
    }
  });
}

async function openPalette() {
  const { open } = await import('./palette.js');
  open();
}

document.addEventListener('keydown', (event) => {
  if ((event.metaKey || event.ctrlKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === 'k') {
    if (document.querySelector('[data-palette]') === null) return;
    event.preventDefault();
    void openPalette();
  } else if (event.key === '/' && !isTyping(event) && root.dataset.keys !== 'off') {
    const field = /** @type {HTMLInputElement | null} */ (document.querySelector('main [data-search]'));
    if (field === null) return;
    event.preventDefault();
    // The field can be among filters that are folded on a small screen.
    field.closest('details')?.setAttribute('open', '');
    field.focus();
    field.select();
  }
});

for (const link of document.querySelectorAll('[data-palette]')) {
  link.addEventListener('click', (event) => {
    const { metaKey, ctrlKey, shiftKey } = /** @type {MouseEvent} */ (event);
    if (metaKey || ctrlKey || shiftKey) return;
    event.preventDefault();
    void openPalette();
  });
}

if (/Mac|iP(hone|ad|od)/.test(navigator.userAgent)) {
  for (const hint of document.querySelectorAll('[data-command-key]')) hint.textContent = '⌘K';
}
// Fields for times are in UTC in the markup. Here they are shown in the reader's time; the address contains UTC.
for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll('input[data-utc]'))) {
  const at = new Date(`${field.value}Z`);
  if (!Number.isNaN(at.getTime())) field.value = localText(at).slice(0, field.value.length);
  const name = field.labels?.[0]?.querySelector('[data-zone]');
  if (name instanceof HTMLElement) name.textContent = name.dataset.zone ?? '';
}

/** Returns a time in the reader's time zone, in the format of a field. @param {Date} at */
function localText(at) {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

document.addEventListener('formdata', (event) => {
  const { formData, target } = /** @type {FormDataEvent} */ (event);
  if (!(target instanceof HTMLFormElement) || target.method !== 'get') return;
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (target.querySelectorAll('input[data-utc]'))) {
    const at = new Date(field.value);
    if (Number.isNaN(at.getTime())) continue;
    // An end without seconds means the end of its minute.
    const whole = field.value.length > 16 ? 0 : field.dataset.utc === 'end' ? 59_999 : 0;
    formData.set(field.name, new Date(at.getTime() + whole).toISOString().replace('.000', ''));
  }
  // Empty fields are left out to keep the address short.
  for (const name of new Set(formData.keys()))
    if (formData.getAll(name).every((value) => value === '')) formData.delete(name);
});

// On a small screen, the tab of this page can be outside the visible area.
const tabs = document.querySelector('.tabs');
const tab = tabs?.querySelector('[aria-current]');
if (tabs && tab instanceof HTMLElement && tabs.scrollWidth > tabs.clientWidth) {
  tabs.scrollLeft = tab.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2;
}

const zone = document.getElementById('zone');
if (zone?.dataset.local !== undefined) zone.textContent = zone.dataset.local;
// Content that another script inserts is in UTC again.
new MutationObserver(localise).observe(document.body, { childList: true, subtree: true });
setInterval(drain, 1000);
localise();
drain();
