import { serveContender } from '../compare/serve.js';
import { elevateOverHttp } from '../over-http/elevate.js';
import type { ServedBelay } from '../over-http/serve.js';

/** The people: `node http-client.js <access as JSON>`. */
await serveContender(async (access) => {
  const { url, tokens } = JSON.parse(access) as ServedBelay['access'];
  return {
    async elevate(index, shape) {
      const own = tokens[index];
      if (own) await elevateOverHttp({ url, tokens: own, shape });
    },
    async close() {},
  };
});
