import { readFile } from 'node:fs/promises';

interface ProcessState {
  alive: boolean;
  /** Dead, but not collected by its parent yet, so that its number still accepts signals. */
  uncollected: boolean;
  /** Differs from that of a later process with the same number; empty where the system does not show it (not Linux). */
  birth: string;
  /** The command line; undefined where the system does not show it. */
  command: string[] | undefined;
}

/** Returns the state of the process with a number. */
export async function inspectProcess(pid: number): Promise<ProcessState> {
  const gone: ProcessState = { alive: false, uncollected: false, birth: '', command: undefined };
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') {
      return gone;
    }
  }
  if (process.platform !== 'linux') {
    return { ...gone, alive: true };
  }
  const [status, boot, command] = await Promise.all([
    readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''),
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
  ]);
  // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
  const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') {
    return { ...gone, uncollected: true };
  }
  const started = fields[19];
  return {
    alive: true,
    uncollected: false,
    birth: started === undefined ? '' : `${boot.trim()}/${started}`,
    command: command === '' ? undefined : command.split('\0'),
  };
}
