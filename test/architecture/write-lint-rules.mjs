// Writes the import rules of boundaries.mjs into biome.json: `node test/architecture/write-lint-rules.mjs`, then
// `npx biome format --write biome.json`. The architecture test fails when the two do not agree.
import { readFileSync, writeFileSync } from 'node:fs';
import { lintOverrides } from './boundaries.mjs';

const path = new URL('../../biome.json', import.meta.url);
const configuration = JSON.parse(readFileSync(path, 'utf8'));
const others = configuration.overrides.filter(({ linter }) => linter?.rules?.style?.noRestrictedImports === undefined);
configuration.overrides = [...others, ...lintOverrides()];
writeFileSync(path, `${JSON.stringify(configuration, null, 2)}\n`);
