import { readFileSync } from 'node:fs';

/**
 * Loaded into every process of Belay by `--import`: the wall clock of JavaScript is shifted by the milliseconds in the file that
 * CHAOS_CLOCK names, which is read again at SIGUSR2. Timers are not shifted, as when a real clock is stepped.
 */
const RealDate = Date;
let offset = 0;

function read(): void {
  try {
    offset = Number(readFileSync(process.env.CHAOS_CLOCK ?? '', 'utf8'));
  } catch {
    offset = 0;
  }
}

const now = () => RealDate.now() + offset;

read();
process.on('SIGUSR2', read);
globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, newTarget) => Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget),
  apply: () => new RealDate(now()).toString(),
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
});
