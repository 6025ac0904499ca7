import { z } from 'zod';

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

const endpoint = z.url({ protocol: /^https?$/ }).refine((text) => {
  const { username, password, search, hash } = new URL(text);
  return username === '' && password === '' && search === '' && hash === '';
}, 'must have no credentials, query or fragment; set the key in api_key');

const common = {
  model: z.string().min(1).max(200),
  api_key: z.string().min(1).optional(),
  /** The endpoint receives a key and the texts of people: unencrypted only over loopback, or when this is set. */
  allow_insecure_endpoint: z.boolean().default(false),
};

/** `services.llm` of the configuration, its references resolved. */
export const languageModelConfig = z
  .discriminatedUnion('provider', [
    z.strictObject({
      provider: z.literal('openai-compatible'),
      base_url: endpoint,
      ...common,
      /** Set to false for servers that support `json_object` but no schemas. */
      structured_output: z.boolean().default(true),
    }),
    z.strictObject({
      provider: z.literal('anthropic'),
      base_url: endpoint.default('https://api.anthropic.com/v1'),
      ...common,
    }),
  ])
  .refine(
    ({ base_url, allow_insecure_endpoint }) => {
      const { protocol, hostname } = new URL(base_url);
      return protocol === 'https:' || loopback.test(hostname) || allow_insecure_endpoint;
    },
    { path: ['base_url'], message: 'must be https; to permit http, set allow_insecure_endpoint' },
  );

export type LanguageModelConfig = z.infer<typeof languageModelConfig>;
