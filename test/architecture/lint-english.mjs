// Part of `npm run lint`: prints where a text, a comment or a document breaks the rules of english-words.mjs.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { checkEnglish } from './english.mjs';

const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
});
const paths = listed.split('\0').filter((path) => /\.(ts|tsx|js|mjs|md)$/.test(path) && existsSync(path));
const faults = checkEnglish(new Map(paths.map((path) => [path, readFileSync(path, 'utf8')])));
for (const each of faults) console.error(each);
if (faults.length > 0) process.exitCode = 1;
