import { readFileSync } from 'node:fs';

export const root = new URL('../../', import.meta.url);

export interface Instruction {
  /** `FROM`, `RUN` and so on, in upper case. */
  name: string;
  rest: string;
}

/** Returns the instructions of the Dockerfile, a stage each; what stands before the first FROM is the stage of number 0. */
export function readStages(): Instruction[][] {
  const text = readFileSync(new URL('Dockerfile', root), 'utf8')
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '');
  const stages: Instruction[][] = [[]];
  for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
    const [, name = '', rest = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
    if (name === 'FROM') stages.push([]);
    stages.at(-1)?.push({ name: name.toUpperCase(), rest });
  }
  return stages;
}

/** Returns what the instructions of this name say. */
export function valuesOf(stage: readonly Instruction[] | undefined, name: string): string[] {
  return (stage ?? []).filter((each) => each.name === name).map(({ rest }) => rest);
}
