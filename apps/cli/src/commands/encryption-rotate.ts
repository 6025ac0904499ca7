import { addCommand, type Parent } from '../command.js';

/**
 * Declares the command `belay encryption rotate`, which creates a new encryption key, wrapped by the configured service. It is recorded in
 * the audit log.
 */
export function addEncryptionRotate(parent: Parent): void {
  addCommand(parent, {
    name: 'rotate',
    here: true,
    description: 'create a new encryption key and retire the current one (for operators, on the server’s machine)',
    examples: ['encryption rotate', 'encryption rotate --json'],
    run: async ({ output, shell }) => {
      const rotated = await shell.operator.rotateEncryption();
      output.result(rotated, () =>
        output.fields({ key: rotated.kid, retired: rotated.retired, made: rotated.created_at }),
      );
      return undefined;
    },
  });
}
