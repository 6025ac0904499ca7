import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseWorkflow } from '../src/index.js';

// The specification's examples are not part of the repository; they are read where they are present.
const folder = new URL('../../../../shared/serverless-workflow/examples/', import.meta.url);
const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.yaml')) : [];

/** The examples that use an unsupported part of the DSL, by the code that rejects them; every other example is accepted. */
const REFUSED: { [code: string]: RegExp } = {
  ERR_UNSUPPORTED_RUN: /^run-/,
  ERR_UNSUPPORTED_SCHEDULE: /^(schedule-|set\b|set-expression)/,
  ERR_UNSUPPORTED_CALL_OPENAPI: /^(call-openapi|accumulate-room-readings)/,
  ERR_UNSUPPORTED_CALL_ASYNCAPI: /^call-asyncapi/,
  ERR_UNSUPPORTED_CALL_GRPC: /^call-grpc/,
  ERR_UNSUPPORTED_CALL_MCP: /^call-mcp/,
  ERR_UNSUPPORTED_CATALOG: /^call-custom-function-cataloged/,
  ERR_UNSUPPORTED_AUTHENTICATION: /^authentication-(oauth2|oidc)/,
  ERR_UNSUPPORTED_SECRETS: /^authentication-(oauth2|oidc)-secret/,
  ERR_UNSUPPORTED_EXTENSIONS: /^mock-service-extension/,
};

function codesOf(text: string): string[] {
  const result = parseWorkflow(text, { functions: {} });
  return result.ok ? [] : [...new Set(result.issues.map((issue) => issue.code))].sort();
}

describe('the examples of the specification', () => {
  for (const name of files) {
    const expected = Object.keys(REFUSED).filter((code) => REFUSED[code]?.test(name));
    it(`${name} is ${expected.length === 0 ? 'accepted' : `rejected as ${expected.join(', ')}`}`, () => {
      expect(codesOf(readFileSync(new URL(name, folder), 'utf8'))).toEqual(expected.sort());
    });
  }

  it('are distinguished from wrong definitions', () => {
    const text = (task: string) =>
      `{document: {dsl: '1.0.3', namespace: a, name: b, version: 1.0.0}, do: [{t: ${task}}]}`;
    expect(codesOf(text('{wait: PT1S}'))).toEqual([]);
    expect(codesOf(text('{run: {shell: {command: ls}}}'))).toEqual(['ERR_UNSUPPORTED_RUN']);
    expect(codesOf(text('{wiat: PT1S}'))).toEqual(['ERR_TASK']);
  });
});
