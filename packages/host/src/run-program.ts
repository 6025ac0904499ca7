import { spawn } from 'node:child_process';
import { parse } from 'node:path';
import { execPath, platform } from 'node:process';

interface ProgramResult {
  /** The exit status; null when the program could not be started or was killed. */
  code: number | null;
  /** Standard output and standard error, in the order they came. */
  output: string;
  /** The system's error code (ENOENT, EACCES, EPERM …) when the program could not be started. */
  failure?: string;
}

/**
 * Runs a program to its end, as `user` when one is given. Never throws: the result says what happened.
 *
 * The environment has only what the programs need, so that no PGDATA, PGPORT or LD_LIBRARY_PATH of the user affects the server. On
 * Windows it is inherited, because sockets need SystemRoot there.
 */
export function runProgram(
  file: string,
  parameters: string[],
  user?: { uid: number; gid: number },
): Promise<ProgramResult> {
  return new Promise((resolve) => {
    let output = '';
    const done = (code: number | null, failure?: string) =>
      resolve(failure === undefined ? { code, output } : { code, output, failure });
    try {
      const child = spawn(file, parameters, {
        // Every user can enter the root folder, and PostgreSQL does not start in a folder that it cannot enter.
        cwd: parse(execPath).root,
        stdio: ['ignore', 'pipe', 'pipe'],
        windowsHide: true,
        ...(platform === 'win32' ? {} : { env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' } }),
        ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
      });
      const collect = (chunk: Buffer) => {
        output += chunk.toString('utf8');
      };
      child.stdout.on('data', collect);
      child.stderr.on('data', collect);
      child.on('error', (error: NodeJS.ErrnoException) => done(null, error.code ?? error.message));
      child.on('close', (code) => done(code));
    } catch (error) {
      done(null, (error as NodeJS.ErrnoException).code ?? String(error));
    }
  });
}
