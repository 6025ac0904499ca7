export { startDemoIdentityProvider } from './identity-provider/start.js';
export { openDemo } from './start-demo.js';
