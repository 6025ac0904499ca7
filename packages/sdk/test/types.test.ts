import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { compile } from './support/pack.js';

it('the published declarations say what the server’s router says, both ways', async () => {
  const here = path.dirname(fileURLToPath(import.meta.url));
  const complaints = await compile(here, ['-p', '.', '--noErrorTruncation']);
  // The sources of other packages have a compiler run of their own: here only ours and the compiler's options count.
  const ours = complaints.split('\n').filter((line) => /error TS/.test(line) && !/^\.\.\/\.\.\//.test(line));
  expect(ours).toEqual([]);
}, 120_000);
