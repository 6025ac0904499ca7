/** The longest name that is compared; longer ones are not typed by hand. */
const longest = 64;

/**
 * Returns the known name that a mistyped one was probably meant to be: with at most a third of its letters, or one
 * letter, changed, added, left out or swapped. Upper case counts as lower case, and a dash as an underscore. Undefined
 * when `given` is known, when no name is close, or when several are equally close.
 */
export function findClosest(given: string, known: Iterable<string>): string | undefined {
  if (given.length > longest) return undefined;
  const written = fold(given);
  let best: { name: string; distance: number; alone: boolean } | undefined;
  for (const name of known) {
    if (name === given) return undefined;
    const allowed = Math.max(1, Math.floor(Math.max(written.length, name.length) / 3));
    const limit = best === undefined ? allowed : Math.min(allowed, best.distance);
    if (Math.abs(name.length - written.length) > limit) continue;
    const distance = distanceOf(written, fold(name));
    if (distance > limit) continue;
    best = { name, distance, alone: distance < (best?.distance ?? Number.POSITIVE_INFINITY) };
  }
  return best?.alone ? best.name : undefined;
}

function fold(name: string): string {
  return name.toLowerCase().replaceAll('-', '_');
}

/** Returns how many letters are changed, added, left out or swapped with their neighbour (optimal string alignment). */
function distanceOf(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const same = one[row - 1] === other[column - 1];
      let cost = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (row > 1 && column > 1 && swapped) cost = Math.min(cost, (before[column - 2] ?? 0) + 1);
      current.push(cost);
    }
    before = last;
    last = current;
  }
  return last[other.length] ?? 0;
}
