import { printable } from '@belay/contract/printable';
import type { RestoreStatus } from '@belay/sdk';
import { addCommand, type Parent } from '../command.js';
import type { Output } from '../output/output.js';

const onMachine = '(for operators, on the server’s machine)';

/**
 * Declares the commands `belay restore …`, with which an operator continues after the database was restored to an
 * earlier time. Each needs the server's own database; each change is recorded in the audit log.
 */
export function addRestore(parent: Parent): void {
  addCommand<{ reason: string }>(parent, {
    name: 'begin',
    here: true,
    description: `stop all grants until every provider was compared with a restored database ${onMachine}`,
    examples: ["restore begin --reason 'restored to 09:00'"],
    options: withReason,
    run: async ({ options: { reason }, output, shell }) => {
      const done = await shell.operator.beginRestore({ reason });
      output.result(done, () => 'grants wait; revocations go on');
      output.note(
        'everyone has to sign in again; tokens that were revoked since the backup are valid again, so revoke them again: belay token list',
      );
      output.note('a running server compares the providers in 40 seconds: belay restore status');
      return undefined;
    },
  });
  addCommand(parent, {
    name: 'status',
    here: true,
    description: `show whether grants wait after a restore, and for what ${onMachine}`,
    examples: ['restore status', 'restore status --json'],
    run: async ({ output, shell }) => {
      const status = await shell.operator.readRestore();
      output.result(status, () => describe(status, output));
      return undefined;
    },
  });
  addAnswer(parent, 'revoke', 'revoke access that the comparison found');
  addAnswer(parent, 'keep', 'keep access that the comparison found, which Belay did not grant');
  addCommand<{ reason: string }>(parent, {
    name: 'skip <provider>',
    here: true,
    description: `do not compare a provider: what it holds stays unknown ${onMachine}`,
    examples: ["restore skip old-cluster --reason 'switched off in May'"],
    options: withReason,
    run: async ({ args: [provider = ''], options: { reason }, output, shell }) => {
      const done = await shell.operator.skipProvider({ provider, reason });
      output.result(done, () => printable(done.message));
      return undefined;
    },
  });
  addCommand(parent, {
    name: 'open',
    here: true,
    description: `permit grants again, when every provider was compared and nothing waits for a decision ${onMachine}`,
    examples: ['restore open'],
    run: async ({ output, shell }) => {
      const done = await shell.operator.openRestore();
      output.result(done, () => printable(done.message));
      return undefined;
    },
  });
}

type Declared = Parameters<NonNullable<Parameters<typeof addCommand<{ reason: string }>>[1]['options']>>[0];

function withReason(command: Declared): Declared {
  return command.requiredOption('--reason <text>', 'the reason, written to the audit log');
}

function addAnswer(parent: Parent, answer: 'revoke' | 'keep', description: string): void {
  addCommand<{ reason: string }>(parent, {
    name: `${answer} <id>`,
    here: true,
    description: `${description} ${onMachine}`,
    examples: [`restore ${answer} 0199a3c2-7b1e-7cc3-98c4-dc0c0c07398f --reason 'asked its holder'`],
    options: withReason,
    run: async ({ args: [id = ''], options: { reason }, output, shell }) => {
      const done = await shell.operator.answerLeftover({ id, answer, reason });
      output.result(done, () => printable(done.message));
      return undefined;
    },
  });
}

function describe({ closed_since: since, reason, providers, leftovers }: RestoreStatus, output: Output): string {
  if (since === null) return 'Grants are permitted; no restore is being compared';
  const compared = output.table(
    ['Provider', 'Comparison', 'Note'],
    providers.map(({ provider, status, note, skip }) => [
      provider,
      status,
      printable([note, skip && `${skip.by} proposes to skip it: ${skip.reason}`].filter(Boolean).join('; ')),
    ]),
    'No providers',
  );
  const found = output.table(
    ['Id', 'Provider', 'Identity', 'Access', 'Mark', 'Found'],
    leftovers.map((one) => [
      one.id,
      one.provider,
      printable(one.identity),
      printable(JSON.stringify(one.access)),
      printable(one.mark ?? ''),
      output.time(one.found_at),
    ]),
    'No access waits for a decision',
  );
  return `Grants wait since ${since}: ${printable(reason ?? '')}\n\n${compared}\n\n${found}`;
}
