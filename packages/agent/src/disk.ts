import { StartError } from '@belay/program';

const cures: Record<string, string> = {
  EACCES: 'it does not belong to the user of this process; chown it to that user, or set BELAY_DATA to another folder',
  EPERM: 'it does not belong to the user of this process; chown it to that user, or set BELAY_DATA to another folder',
  EROFS: 'nothing can be written there; set BELAY_DATA to another folder',
  ENOTDIR: 'a part of the path is not a folder; set BELAY_DATA to another one',
  ENOSPC: 'the disk is full; make room',
  EDQUOT: 'the quota of the disk is used up; free some space',
};

/** Returns a failure of the disk at our folder, with its cure; everything else as it is. */
export function explainDisk(error: unknown, folder: string): unknown {
  const { code = '' } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  const cure = cures[code];
  return cure === undefined ? error : new StartError(`${folder} cannot be used (${code}): ${cure}`, { cause: error });
}
