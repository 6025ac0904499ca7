import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { vi } from 'vitest';

export interface Typist extends AsyncDisposable {
  type(keys: string): void;
  /** Resolves when the screen shows this text, after the text that was seen before. */
  sees(text: string | RegExp): Promise<void>;
  /** Returns everything that was written, including control characters. */
  screen(): string;
  /** Closes the terminal, like closing its window. */
  close(): void;
  /** Resolves to the exit code of the command line. */
  ended(): Promise<number | null>;
}

/**
 * Runs a command line at a real terminal of 100 columns and 40 lines with Python's pty module. It passes its standard input on as keys, and
 * exits with the exit code of the command.
 */
const python = `
import fcntl, os, pty, select, signal, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    os.execvp('/bin/sh', ['sh', '-c', 'exec ' + sys.argv[1]])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 100, 0, 0))
signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGKILL))
sources = [fd, 0]
while True:
    ready, _, _ = select.select(sources, [], [])
    if 0 in ready:
        keys = os.read(0, 4096)
        if keys: os.write(fd, keys)
        else: sources.remove(0)
    if fd in ready:
        try: text = os.read(fd, 65536)
        except OSError: break
        if not text: break
        os.write(1, text)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) & 255)
`;

/** Runs a command line at a terminal into which a test can type. */
export function typeInto(command: string, env: Record<string, string>): Typist {
  const child = spawn('python3', ['-c', python, command], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  let screen = '';
  let seen = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
  });
  // Input after the end is ignored; the test finds that on the screen.
  child.stdin.on('error', () => {});
  const closed = once(child, 'close').then(([code]) => code as number | null);
  return {
    type: (keys) => void child.stdin.write(keys),
    async sees(text) {
      await vi.waitFor(
        () => {
          const rest = screen.slice(seen);
          const at = typeof text === 'string' ? rest.indexOf(text) : rest.search(text);
          if (at < 0) throw new Error(`the screen lacks ${text}: ${JSON.stringify(rest)}`);
          seen += at + 1;
        },
        { timeout: 30_000, interval: 50 },
      );
    },
    screen: () => screen,
    close: () => void child.kill('SIGKILL'),
    ended: () => closed,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) child.kill('SIGTERM');
      await closed;
    },
  };
}
