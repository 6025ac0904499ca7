import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** A shell block of the documentation: its file, its text, and its first command, which is its name. */
export interface ShellBlock {
  file: string;
  name: string;
  text: string;
}

/** Documents with shell blocks that a reader runs. Decisions are only records. */
const documents = ['*.md', 'docs/*.md', 'docs/guides/*.md', 'docs/connectors/*.md', 'packages/*/README.md'];

/** Returns every `sh` block of the documents, in their order. */
export async function readShellBlocks(): Promise<ShellBlock[]> {
  // `:(glob)`: a star that stays within its folder.
  const listed = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', ...documents.map((each) => `:(glob)${each}`)],
    { cwd: root },
  );
  const blocks: ShellBlock[] = [];
  for (const file of `${listed}`.trim().split('\n').sort()) {
    const document = await readFile(path.join(root, file), 'utf8');
    for (const [, indent = '', body = ''] of document.matchAll(/^( *)```sh\n(.*?)^ *```/gms)) {
      const text = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
      blocks.push({
        file,
        name:
          text
            .split('\n')[0]
            ?.split(/ {2,}#/)[0]
            ?.trim() ?? '',
        text,
      });
    }
  }
  return blocks;
}

/** Returns the words of each `belay` command in a shell script, without syntax of the shell. */
export function findBelayCommands(text: string): string[][] {
  const joined = text.replaceAll('\\\n', ' ').replaceAll(/(^|\s)#.*$/gm, '');
  const commands = joined.matchAll(/(?:^ *|\$\()(?:npm run --silent belay --|belay) (.*)$/gm);
  return [...commands].map(([, rest = '']) => readWords(rest));
}

/** Reads words up to the end of a command. Quotes keep words together; `|`, `;`, `)` and redirections end the command. */
function readWords(line: string): string[] {
  const words = line.match(/"[^"]*"|'[^']*'|<[\w-]+>|[|;<>)]|&&|[^\s"'|;<>)]+/g) ?? [];
  const end = words.findIndex((word) => /^([|;<>)]|&&)$/.test(word));
  return words.slice(0, end === -1 ? undefined : end).map((word) => word.replace(/^(["'])(.*)\1$/s, '$2'));
}
