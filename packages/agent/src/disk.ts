import { StartError } from '@belay/program';

const cures: Record<string, string> = {
  EACCES: 'it has to belong to the user that this runs as; give it to them, or set BELAY_DATA to another folder',
  EPERM: 'it has to belong to the user that this runs as; give it to them, or set BELAY_DATA to another folder',
  EROFS: 'nothing can be written there; set BELAY_DATA to another folder',
  ENOTDIR: 'something on the way there is no folder; set BELAY_DATA to another one',
  ENOSPC: 'the disk is full; make room',
  EDQUOT: 'the quota of the disk is used up; make room',
};

/** Returns a failure of the disk at our folder, with its cure; everything else as it is. */
export function explainDisk(error: unknown, folder: string): unknown {
  const { code = '' } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  const cure = cures[code];
  return cure === undefined ? error : new StartError(`${folder} cannot be used (${code}): ${cure}`, { cause: error });
}
