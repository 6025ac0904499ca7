export type { DemoAccount } from './people.js';
export type { DemoClient } from './provider.js';
export { type DemoIdentityProvider, type DemoIdentityProviderOptions, startDemoIdentityProvider } from './start.js';
