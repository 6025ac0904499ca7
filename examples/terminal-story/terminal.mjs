import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { renderScreen } from './screen.mjs';

/** Runs a shell line at a terminal of 110 columns, and passes its standard input on as keys. */
const python = `
import fcntl, os, pty, select, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    os.execvp('/bin/sh', ['sh', '-c', sys.argv[1]])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 60, 110, 0, 0))
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

/** The longest time for one step, in milliseconds. */
const patience = 60_000;

/** Runs a shell line at a terminal; returns its screen, its keyboard, and its end. */
export function openTerminal(line, env) {
  const child = spawn('python3', ['-c', python, line], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  let written = '';
  const watchers = new Set();
  child.stdout.setEncoding('utf8').on('data', (text) => {
    written += text;
    for (const look of watchers) look();
  });
  const closed = once(child, 'close');
  return {
    type: (keys) => child.stdin.write(keys),
    /** Resolves with the first match in the text that was or will be written. */
    sees: (pattern) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`${line}: did not show ${pattern}:\n${renderScreen(written)}`)),
          patience,
        );
        const look = () => {
          const found = pattern.exec(written);
          if (found === null) return;
          clearTimeout(timer);
          watchers.delete(look);
          resolve(found);
        };
        watchers.add(look);
        look();
      }),
    async end() {
      const [code] = await closed;
      return { code, text: renderScreen(written) };
    },
  };
}
