import { constants } from 'node:os';
import type { Program, Programs } from '../shell.js';

/** Signals that a shell or a supervisor sends. SIGKILL cannot be caught; after it, the lease of the run ends the access. */
const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;

/**
 * Creates the starter of programs, which share this process's input and output. On a terminal, the kernel sends Ctrl-C and Ctrl-\ to the
 * program as well, so these are not forwarded a second time.
 */
export function createPrograms(
  process: NodeJS.Process,
  variables: Readonly<Record<string, string | undefined>>,
): Programs {
  const fromTerminal = (signal: NodeJS.Signals) =>
    process.stdin.isTTY === true && (signal === 'SIGINT' || signal === 'SIGQUIT');
  return {
    onSignal(listener) {
      for (const signal of forwarded) process.on(signal, listener);
      return () => {
        for (const signal of forwarded) process.off(signal, listener);
      };
    },
    start(command, args, environment): Program {
      // Loaded on demand: help and completion start faster without child processes.
      const { spawn } = process.getBuiltinModule('node:child_process');
      // The command gets the access, but not the person's token, with which it could request and approve more.
      const { BELAY_TOKEN: _kept, ...handed } = variables;
      const child = spawn(command, [...args], { stdio: 'inherit', env: { ...environment, ...handed } });
      const ended = new Promise<number>((resolve) => {
        child.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ENOENT' ? 127 : 126));
        child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
      });
      return {
        ended,
        signal: (signal) => {
          if (!fromTerminal(signal)) child.kill(signal);
        },
      };
    },
  };
}
