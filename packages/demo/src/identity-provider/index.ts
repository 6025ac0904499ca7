export type { DemoAccount } from './people.js';
export { type DemoIdentityProviderOptions, startDemoIdentityProvider } from './start.js';
