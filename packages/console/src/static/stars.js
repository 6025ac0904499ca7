// Stars a role in its row without loading the list again, so that the focus and the place in the list stay as they are.
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
    // The page says what is wrong: most likely the session has ended.
    if (!answer.ok) return location.reload();
  } catch {
    // Off the network for a moment: the star stays as it was.
    return;
  }
  // A role is in several lists: the starred ones, those of each of its systems.
  for (const each of document.querySelectorAll('button.star')) {
    if (each.ariaLabel === label) each.ariaPressed = String(starred);
  }
}
