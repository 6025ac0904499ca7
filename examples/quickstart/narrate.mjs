// Prints the story of the demo: every line with the time of day and the time since the start, and every claim checked.
const started = performance.now();
const colour = process.stdout.isTTY ? (code, text) => `\u001b[${code}m${text}\u001b[0m` : (_code, text) => text;

function stamp() {
  const elapsed = ((performance.now() - started) / 1000).toFixed(1).padStart(5);
  return colour(2, `${new Date().toISOString().slice(11, 23)} ${elapsed}s`);
}

export function chapter(title) {
  console.log(`\n${colour(1, title)}`);
}

export function say(text) {
  console.log(`  ${stamp()}  ${text}`);
}

/** Prints a claim that is true; throws when it is not, which ends the demo with exit code 1. */
export function claim(holds, text, found) {
  if (!holds)
    throw new Error(
      `Claim failed: ${text}${found === undefined ? '' : `\n    found: ${JSON.stringify(found, null, 2)}`}`,
    );
  console.log(`  ${stamp()}  ${colour(32, '✓')} ${text}`);
}

/** Claims that something is rejected, with one of these codes. */
export async function claimRefused(attempt, codes, text) {
  const outcome = await attempt().then(
    (value) => ({ code: 'was allowed', value }),
    (error) => ({ code: error.code ?? error.name, message: error.message }),
  );
  claim(codes.includes(outcome.code), `${text}: rejected (${outcome.message ?? outcome.code})`, outcome);
}

/** Calls a function repeatedly until it returns a result; throws when that takes too long. */
export async function until(what, seconds, ask) {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (performance.now() > end) throw new Error(`Not within ${seconds} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
