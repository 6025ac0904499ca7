import { printable } from '@belay/contract/printable';
import { addCommand, type Parent } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../output/output.js';
import type { Archives } from '../shell.js';

/**
 * Declares the commands `belay ledger archive` and `belay ledger verify`. The first needs the server's own database; the second reads only
 * files.
 */
export function addLedger(parent: Parent): void {
  addCommand(parent, {
    name: 'archive <folder>',
    here: true,
    description: 'write the months of the ledger that are over to a folder (for operators, on the server’s machine)',
    examples: ['ledger archive /var/backups/belay-ledger', 'ledger archive archives --json'],
    values: { folder: 'files' },
    run: async ({ args: [folder = ''], output, shell }) => {
      const { archived, waiting } = await shell.operator.archiveLedger(folder);
      output.result({ archived, waiting }, () =>
        output.table(
          ['Month', 'Entries', 'File'],
          archived.map(({ month, rows, file }) => [month, String(rows), file]),
          'Every month that is over is archived already',
        ),
      );
      if (waiting.length > 0)
        output.note(`not archived, because a request that is not over has entries there: ${waiting.join(', ')}`);
      return undefined;
    },
  });
  addCommand(parent, {
    name: 'verify <folder>',
    here: true,
    description: 'check that every archive of a folder is whole',
    examples: ['ledger verify /var/backups/belay-ledger', 'ledger verify archives --json'],
    values: { folder: 'files' },
    run: async ({ args: [folder = ''], output, shell }) => {
      const archives = await shell.operator.verifyArchives(folder);
      const ok = archives.every(({ fault }) => fault === null);
      output.result({ ok, archives }, () => describe(archives, output));
      return ok ? exitCodes.ok : exitCodes.failed;
    },
  });
}

function describe(archives: Archives, output: Output): string {
  return output.table(
    ['File', 'Entries', 'Result'],
    archives.map(({ file, rows, fault }) => [printable(file), String(rows), printable(fault ?? 'whole')]),
    'No archives in this folder',
  );
}
