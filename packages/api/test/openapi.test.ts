import { createConfig, lintFromString } from '@redocly/openapi-core';
import { describe, expect, it } from 'vitest';
import { serverRouter } from '../src/index.js';
import { describeApi } from '../src/openapi.js';

const options = { baseUrl: 'https://belay.example.com', basePath: '/api/v1', version: '0.1.0' };

describe('the OpenAPI document', () => {
  it('passes the recommended rules of a linter that is not ours', async () => {
    const document = describeApi(serverRouter, options);
    const config = await createConfig({ extends: ['recommended'] });
    const problems = await lintFromString({ source: JSON.stringify(document), absoluteRef: 'openapi.json', config });
    const errors = problems.filter(({ severity }) => severity === 'error');
    expect(errors).toEqual([]);
    expect(
      problems
        .map(({ ruleId }) => ruleId)
        .filter((rule) => rule !== 'operation-2xx-response' && rule !== 'no-server-example.com'),
    ).toEqual([]);
  });
});
