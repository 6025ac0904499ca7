import { readdir, readFile } from 'node:fs/promises';

/** Returns every process below another, from what Linux says in /proc. */
export async function listDescendants(leader: number): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
    // The name of the program stands in parentheses and may contain spaces.
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    if (Number.isSafeInteger(parent)) parents.set(Number(name), parent);
  }
  const found = [leader];
  for (const each of found) for (const [child, parent] of parents) if (parent === each) found.push(child);
  return found.slice(1);
}

/** Sends a signal to each; one that is gone is left. */
export function signalAll(processes: readonly number[], signal: NodeJS.Signals): void {
  for (const each of processes) {
    try {
      process.kill(each, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
