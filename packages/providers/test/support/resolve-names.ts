import dns from 'node:dns';

/** Resolves only these names, of the test's own servers, to this machine. Returns a function that stops this. */
export function resolveToThisMachine(names: readonly string[]): () => void {
  const before = dns.lookup;
  const lookup = (host: string, options: unknown, done: (...answer: unknown[]) => void) => {
    if (!names.includes(host)) return (before as (...all: unknown[]) => void)(host, options, done);
    const all = (options as { all?: boolean } | null)?.all === true;
    if (all) done(null, [{ address: '127.0.0.1', family: 4 }]);
    else done(null, '127.0.0.1', 4);
  };
  dns.lookup = lookup as unknown as typeof dns.lookup;
  return () => {
    dns.lookup = before;
  };
}
