import { runProgram } from '@belay/host';
import type { ServerUser } from './ensure-account.js';

/**
 * Returns whether `user` can pass into a folder. Asked of the kernel by running a shell as that user, because mode bits do not tell
 * of access control lists, mounts and security modules.
 */
export async function canReach(folder: string, user: ServerUser): Promise<boolean> {
  return (await runProgram('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], user)).code === 0;
}
