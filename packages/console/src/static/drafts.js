// Keeps the text of a form that was not accepted because the person's session had ended. It stays in this tab, is shown only to the same
// person and in the same form, and is never sent automatically.
// @ts-check

/**
 * @typedef {{ person: string; action: string; about: string; fields: [string, string][]; unsent: boolean }} Draft
 * `about`: the hidden fields of the form, which tell it apart from other forms with the same address. `unsent`: whether the server has
 * reported that it did not accept the form.
 */

const stored = 'belay-draft';
const kept = document.getElementById('draft-kept');
const { person, draft: restored } = document.documentElement.dataset;

/** @returns {Draft | undefined} */
function read() {
  try {
    return JSON.parse(sessionStorage.getItem(stored) ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}

/** @param {Draft | undefined} draft */
function write(draft) {
  try {
    if (draft === undefined) sessionStorage.removeItem(stored);
    else sessionStorage.setItem(stored, JSON.stringify(draft));
  } catch {
    // Without storage, nothing is kept.
  }
}

/** @param {HTMLFormElement} form */
function controlsOf(form) {
  const found = [...form.querySelectorAll('input, select, textarea')];
  return /** @type {(HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement)[]} */ (found);
}

/** Hidden fields with a different value each time the same form is shown. */
const changing = ['csrf_token', 'idempotency_key', 'shown_to', 'next'];

/** @param {HTMLFormElement} form */
function aboutOf(form) {
  const hidden = controlsOf(form).filter(({ type, name }) => type === 'hidden' && !changing.includes(name));
  return JSON.stringify(hidden.map(({ name, value }) => [name, value]));
}

/** @param {Element} control @returns {control is HTMLInputElement} */
function isBox(control) {
  return control instanceof HTMLInputElement && (control.type === 'checkbox' || control.type === 'radio');
}

/** @param {HTMLFormElement} form */
function keep(form) {
  const controls = controlsOf(form).filter(({ type, name }) => type !== 'hidden' && type !== 'password' && name !== '');
  const written = controls.some(({ type, value }) => (type === 'textarea' || type === 'text') && value.trim() !== '');
  /** @type {[string, string][]} */
  const fields = controls.filter((each) => !isBox(each) || each.checked).map(({ name, value }) => [name, value]);
  const action = form.getAttribute('action') ?? '';
  write(written ? { person: person ?? '', action, about: aboutOf(form), fields, unsent: false } : undefined);
}

/** @param {Draft} draft */
function restore({ action, about, fields }) {
  const form = [...document.forms].find((each) => each.getAttribute('action') === action && aboutOf(each) === about);
  if (form === undefined) return false;
  const left = [...fields];
  for (const control of controlsOf(form)) {
    if (control.type === 'hidden') continue;
    const index = left.findIndex(
      ([name, value]) => name === control.name && (!isBox(control) || value === control.value),
    );
    const [, value = ''] = left[index] ?? [];
    if (index >= 0) left.splice(index, 1);
    if (isBox(control)) control.checked = index >= 0;
    // A choice that is no longer offered stays unselected.
    else if (
      index >= 0 &&
      (!(control instanceof HTMLSelectElement) || [...control.options].some((each) => each.value === value))
    )
      control.value = value;
  }
  const note = document.createElement('p');
  note.className = 'state warn';
  note.setAttribute('role', 'status');
  note.textContent = restored ?? '';
  form.prepend(note);
  const dialog = form.closest('[popover]');
  if (dialog instanceof HTMLElement) dialog.showPopover();
  const written = controlsOf(form).find(({ type }) => type === 'textarea' || type === 'text');
  written?.focus();
  return true;
}

const draft = read();
if (draft !== undefined) {
  const isOther = person !== undefined && person !== draft.person;
  if (isOther) write(undefined);
  else if (kept !== null) {
    write({ ...draft, unsent: true });
    kept.hidden = false;
    // The draft in this tab is easier to reach than the sealed form of the page.
    document.getElementById('unsent')?.remove();
    document.getElementById('sign-in')?.removeAttribute('hidden');
  } else if (person !== undefined && (!draft.unsent || restore(draft))) write(undefined);
}

document.addEventListener('submit', ({ target }) => {
  if (target instanceof HTMLFormElement && target.method === 'post') keep(target);
});
