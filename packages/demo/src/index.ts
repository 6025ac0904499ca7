export { startDemoIdentityProvider } from './identity-provider/index.js';

export { openDemo } from './open-demo.js';
