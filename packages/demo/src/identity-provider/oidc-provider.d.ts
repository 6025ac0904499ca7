/**
 * The package's own entrance prints a warning on Node 20, where all that is used here works (and is tested), so the
 * modules behind it are imported; their types are the entrance's.
 */
declare module 'oidc-provider/lib/provider.js' {
  export { Provider } from 'oidc-provider';
}

declare module 'oidc-provider/lib/helpers/interaction_policy/index.js' {
  import { interactionPolicy } from 'oidc-provider';
  export const base: typeof interactionPolicy.base;
  export const Check: typeof interactionPolicy.Check;
}
