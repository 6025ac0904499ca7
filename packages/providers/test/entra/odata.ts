const condition = /^(?:(\w+) eq '((?:[^']|'')*)'|startswith\((\w+),'((?:[^']|'')*)'\))(?: (and|or) |$)/;

/** Returns the test of a `$filter`, or undefined for a filter that the fake does not support: brackets, or `and` mixed with `or`. */
export function readFilter(text: string | null): ((item: Record<string, unknown>) => boolean) | undefined {
  if (text === null) return () => true;
  const tests: ((item: Record<string, unknown>) => boolean)[] = [];
  const joined = new Set<string>();
  for (let rest = text; rest !== ''; ) {
    const found = condition.exec(rest);
    if (!found) return undefined;
    const [whole, equal, value = '', begins = '', start = '', joint] = found;
    const wanted = (equal === undefined ? start : value).replaceAll("''", "'").toLowerCase();
    const read = (item: Record<string, unknown>) => String(item[equal ?? begins] ?? '').toLowerCase();
    tests.push((item) => (equal === undefined ? read(item).startsWith(wanted) : read(item) === wanted));
    if (joint !== undefined) joined.add(joint);
    rest = rest.slice(whole.length);
    if (joint !== undefined && rest === '') return undefined;
  }
  if (joined.size > 1) return undefined;
  return (item) => (joined.has('or') ? tests.some((test) => test(item)) : tests.every((test) => test(item)));
}
