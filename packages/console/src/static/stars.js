// Stars a role in its row without loading the list again, so that the focus and the scroll position stay.
// @ts-check

const form = /** @type {HTMLFormElement | null} */ (document.getElementById('stars'));

form?.addEventListener('submit', (event) => {
  const { submitter } = event;
  if (!(submitter instanceof HTMLButtonElement)) return;
  event.preventDefault();
  void toggle(submitter);
});

/** @param {HTMLButtonElement} button */
async function toggle(button) {
  const starred = button.ariaPressed !== 'true';
  const label = button.ariaLabel;
  const address = button.formAction.replace(/[^/]+$/, starred ? 'star' : 'unstar');
  try {
    const answer = await fetch(address, {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: '{}',
    });
    // The reloaded page shows the error: most likely the session has ended.
    if (!answer.ok) return location.reload();
  } catch {
    // Offline for a moment: the star stays unchanged.
    return;
  }
  // A role can be in several lists: the starred roles, and those of each of its systems.
  for (const each of document.querySelectorAll('button.star')) {
    if (each.ariaLabel === label) each.ariaPressed = String(starred);
  }
}
