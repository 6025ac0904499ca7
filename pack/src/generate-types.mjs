import openapiTypescript, { astToString } from 'openapi-typescript';

/**
 * Returns the declarations that openapi-typescript makes of an OpenAPI document. It is in this folder because it needs the API of the
 * TypeScript compiler, which TypeScript 7 does not have yet.
 *
 * @param {string} document the document as JSON
 * @returns {Promise<string>}
 */
export async function generateTypes(document) {
  return astToString(await openapiTypescript(document));
}
