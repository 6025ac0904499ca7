import { printable } from '@belay/contract/printable';
import { addCommand, type Parent } from '../command.js';
import type { Setup, Status } from '../doctor/check.js';
import type { Finding } from '../doctor/examine.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../output/output.js';

function render({ check, status, message, cure }: Finding, { colours, terminal }: Output): string {
  if (!terminal) return [status, check, message, cure ?? ''].map(printable).join('\t').trimEnd();
  const marks: Record<Status, string> = {
    ok: colours.green('✓'),
    warning: colours.yellow('!'),
    failed: colours.red('✗'),
    skipped: colours.dim('-'),
  };
  const line = `${marks[status]} ${colours.bold(check.padEnd(14))} ${printable(message)}`;
  return cure === undefined ? line : `${line}\n  ${' '.repeat(14)} ${colours.dim('→')} ${printable(cure)}`;
}

/** Returns a function that computes a value once, so that several checks share it. */
function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Declares the command `belay doctor`, which checks the setup and prints a fix for each problem; exits with 1 when a check fails. */
export function addDoctor(parent: Parent): void {
  addCommand(parent, {
    name: 'doctor',
    description: 'check the setup, and print a fix for each problem',
    examples: ['doctor', 'doctor --json', 'doctor --url https://belay.example.com'],
    run: async ({ options, output, shell }) => {
      const [{ checks, countFindings, examine }, { askServer }] = await Promise.all([
        import('../doctor/examine.js'),
        import('../doctor/ask-server.js'),
      ]);
      const { diagnosis, host } = shell;
      const setup: Setup = {
        shell,
        host,
        diagnosis,
        local: once(() => diagnosis.localServer()),
        server: once(() => askServer(shell, options.server)),
      };
      const findings: Finding[] = [];
      for (const check of checks) {
        const found = await examine(check, setup);
        findings.push(...found);
        // Print each result at once: some checks wait for the network.
        if (!output.json) for (const finding of found) shell.stdout.write(`${render(finding, output)}\n`);
      }
      const counts = countFindings(findings);
      const failed = counts.failed > 0;
      if (output.json) output.result({ ok: !failed, counts, checks: findings }, () => '');
      output.note(
        `${counts.ok} ok, ${counts.failed} failed, ${counts.warning} with a warning, ${counts.skipped} skipped`,
      );
      return failed ? exitCodes.failed : exitCodes.ok;
    },
  });
}
