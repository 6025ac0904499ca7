import { readFileSync } from 'node:fs';

export const root = new URL('../../', import.meta.url);

export interface Instruction {
  /** `FROM`, `RUN` and so on, in upper case. */
  name: string;
  rest: string;
}

/** Returns the instructions of each stage of the Dockerfile; those before the first FROM are stage 0. */
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

/** Returns the arguments of the instructions with this name. */
export function valuesOf(stage: readonly Instruction[] | undefined, name: string): string[] {
  return (stage ?? []).filter((each) => each.name === name).map(({ rest }) => rest);
}
