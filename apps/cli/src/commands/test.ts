import { printable } from '@belay/contract/printable';
import { addCommand, type Parent } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import type { PolicyTest } from '../shell.js';

/** Declares the command `belay test`, which runs policy cases against a configuration, without a server. */
export function addTest(parent: Parent): void {
  addCommand<{ cases?: string }>(parent, {
    name: 'test [path]',
    here: true,
    description: 'run the policy cases of a configuration: who gets what, and who approves',
    examples: ['test', 'test config/ --cases policies/', 'test config/ --json'],
    values: { path: 'files' },
    options: (command) =>
      command.option(
        '--cases <path>',
        'a file of cases, or a folder; default: *.policy-test.yaml in the configuration',
      ),
    run: async ({ args: [path], options, output, shell }) => {
      const tested = await shell.operator.testPolicies(path, options.cases);
      const ok = tested.valid && tested.cases.every((one) => one.ok);
      output.result({ ok, ...tested }, () => describe(tested, output.colours));
      return ok ? exitCodes.ok : exitCodes.failed;
    },
  });
}

type Colours = Record<'green' | 'red' | 'dim', (text: string) => string>;

function describe({ valid, messages, cases, untested }: PolicyTest, { green, red, dim }: Colours): string {
  if (!valid) return messages.map(printable).join('\n');
  const lines = cases.flatMap(({ ok, name, differences }) => [
    `${ok ? green('✓') : red('✗')} ${printable(name)}`,
    ...differences.map((difference) => `    ${printable(difference)}`),
  ]);
  const failed = cases.filter((one) => !one.ok).length;
  const without = untested.length === 0 ? [] : [dim(`without a case: ${untested.map(printable).join(', ')}`)];
  return [...lines, '', ...without, `${cases.length - failed} passed, ${failed} failed`].join('\n');
}
