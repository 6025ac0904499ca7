import { AccessError } from '@belay/contract/errors';
import type { ActorContext, UserActor } from '@belay/core';
import { approvalCatalog, createHouse, type House } from '@belay/testkit/house';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openLanguageModel } from '../../providers/src/llm/open.js';
import { type ModelServer, type Said, startModelServer } from '../../providers/test/llm-server.js';
import { suggestElevation } from '../src/elevation/suggest.js';
import type { ModelSuggester } from '../src/suggester.js';
import { configureSuggester } from '../src/suggestions/configure.js';

const base = approvalCatalog() as { roles: { reader: object } };
const withModel = (llm?: object): object => ({ ...base, ...(llm === undefined ? {} : { services: { llm } }) });

let house: House;
let server: ModelServer;
let ada: ActorContext & { actor: UserActor };
let suggester: ModelSuggester;
let time = 0;
const warnings: string[] = [];

beforeAll(async () => {
  server = await startModelServer();
  const log = { debug() {}, info() {}, error() {}, warn: (_: object, message: string) => void warnings.push(message) };
  house = await createHouse({ catalog: withModel(), log, resolve: () => 'known where it was applied' });
  ada = await house.person('ada', ['engineers']);
  // Loads the vendor's code first: that takes time on a busy machine, and is not measured here.
  await openLanguageModel({ provider: 'openai-compatible', base_url: server.url, model: 'test' });
  suggester = configureSuggester({
    catalog: house.catalog,
    resolve: (reference) => (reference === 'env:LLM_KEY' ? 'a-key-from-the-environment' : undefined),
    open: openLanguageModel,
    log,
    now: () => time,
    patience: 2_000,
  });
});
afterAll(async () => {
  await house[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});
beforeEach(() => {
  server.asked.length = 0;
  warnings.length = 0;
});
afterEach(() => {
  time += 60_000;
});

const configure = (more: object = {}) =>
  house.applyCatalog(
    withModel({
      provider: 'openai-compatible',
      base_url: server.url,
      model: 'test',
      api_key: '${env:LLM_KEY}',
      ...more,
    }),
  );
const ask = (reason = 'read memory') => suggestElevation({ ...ada, suggester }, { reason });
const candidates = (...list: object[]): Said => ({ text: JSON.stringify({ candidates: list }) });

describe('a suggestion', () => {
  it('is the lexical matcher’s where no model is configured, and the model’s where one is', async () => {
    await house.applyCatalog(withModel());
    expect(await suggester.health()).toBe('not configured');
    expect((await ask()).output).toMatchObject({
      suggested_role: 'reader',
      engine: 'lexical',
      suggested_duration: 'PT1H',
    });

    await configure();
    server.say(() => candidates({ role: 'reader', providers: ['memory'], duration: 'PT2H' }));
    expect(await ask('something that no word of the catalog is in')).toEqual({
      status: 'suggested',
      output: {
        suggested_role: 'reader',
        suggested_duration: 'PT2H',
        suggested_providers: ['memory'],
        workflow_id: 'approved',
        matched: [],
        engine: 'model',
        alternatives: [],
      },
    });
    expect(server.asked[0]?.headers.authorization).toBe('Bearer a-key-from-the-environment');
    expect(await suggester.health()).toBe('healthy');
  });

  it('keeps to the duration that the text states, also when a model says another', async () => {
    await configure();
    server.say(() => candidates({ role: 'reader', providers: [], duration: 'PT8H' }));
    expect((await ask('read for 20 minutes')).output.suggested_duration).toBe('PT20M');
    expect((await ask('read for 20 days')).output.suggested_duration).toBe('PT8H');
  });

  it('may be none, by a model too', async () => {
    await configure();
    server.say(() => candidates());
    expect(await ask()).toMatchObject({ status: 'no_match', output: { suggested_role: '', engine: 'model' } });
  });

  const failures: [what: string, said: Said][] = [
    ['500', { status: 500 }],
    ['prose', { text: 'You should have it.' }],
    ['silence', { hang: true }],
    ['10 MB', { bytes: 10 * 1024 * 1024 }],
    ['a role that there is not', candidates({ role: 'root', providers: [], duration: null })],
    ['extra fields', candidates({ role: 'reader', providers: [], duration: null, approved: true })],
  ];
  it.each(failures)('is the lexical matcher’s when a model answers with %s', async (_what, said) => {
    await configure();
    server.say(() => said);
    expect(await ask()).toMatchObject({ status: 'suggested', output: { suggested_role: 'reader', engine: 'lexical' } });
    expect(server.asked).toHaveLength(1);
    expect(warnings).toHaveLength(1);
  });

  it('is asked of a model by a few at a time; the others are not kept waiting', async () => {
    await configure();
    server.say(() => ({ hang: true }));
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask()));
    expect(answers.map(({ output }) => output.engine)).toEqual(Array.from({ length: 10 }, () => 'lexical'));
    expect(server.asked).toHaveLength(4);
  });

  it('needs words, and a person who is signed in', async () => {
    for (const reason of ['', '   ', 'x'.repeat(4_001), 'nul \0']) {
      await expect(ask(reason)).rejects.toMatchObject({ code: 'invalid' });
    }
    await expect(suggestElevation(house.operator(), { reason: 'read' })).rejects.toBeInstanceOf(AccessError);
  });

  it('of a person who may request nothing is nothing, and a model is not asked', async () => {
    await configure();
    const mallory = await house.person('mallory');
    expect(await suggestElevation({ ...mallory, suggester }, { reason: 'read memory' })).toMatchObject({
      status: 'no_match',
    });
    expect(server.asked).toHaveLength(0);
  });
});

describe('the health of the model', () => {
  it('is degraded while it rejects, and never unhealthy: the lexical matcher is there', async () => {
    await configure({ model: 'another' });
    server.models = 401;
    expect(await suggester.health()).toMatch(/^degraded: /);
    server.models = 200;
    // The result is repeated for a while, so that a health check does not cost a call each time.
    expect(await suggester.health()).toMatch(/^degraded: /);
    time += 30_000;
    expect(await suggester.health()).toBe('healthy');
  });

  it('is degraded after a question that was not answered, until one is', async () => {
    await configure({ model: 'a third' });
    server.say(() => ({ status: 500 }));
    await ask();
    expect(await suggester.health()).toMatch(/^degraded: /);
    server.say(() => candidates());
    await ask();
    expect(await suggester.health()).toBe('healthy');
  });

  it('is degraded, and nothing is sent, where the process lacks the key', async () => {
    await configure({ api_key: '${env:NOT_SET}' });
    expect(await suggester.health()).toMatch(/^degraded: /);
    expect((await ask()).output.engine).toBe('lexical');
    expect(server.asked).toHaveLength(0);
  });

  it.each([
    [{ base_url: 'http://llm.example.test' }, 'services.llm.base_url', 'must be https'],
    [{ provider: 'none' }, 'services.llm.provider', ''],
    [{ modle: 'x' }, 'services.llm.modle', 'is not a known key'],
  ])('is never in question: what is no configuration of one is rejected (%j)', async (wrong, path, message) => {
    const applied = configure(wrong);
    await expect(applied).rejects.toMatchObject({
      code: 'invalid',
      issues: [expect.objectContaining({ path, message: expect.stringContaining(message) })],
    });
  });
});
