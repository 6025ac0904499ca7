export { type GithubOptions, type GithubTarget, startGithub } from './emulators/github.js';
export type { GithubWorld } from './emulators/github-world.js';
export { type OktaOptions, type OktaTarget, startOkta } from './emulators/okta.js';
export type { OktaWorld } from './emulators/okta-world.js';
export {
  type SlackClick,
  type SlackMessage,
  type SlackOptions,
  type SlackTarget,
  startSlack,
} from './emulators/slack.js';
export type { SlackWorld } from './emulators/slack-world.js';
export { type EmulatorTarget, startEmulator } from './emulators/start.js';
export {
  answer,
  type Gate,
  gate,
  holdBack,
  loseAnswer,
  loseRequest,
  meanwhile,
  misbehave,
  rewrite,
  stale,
  throttle,
} from './front/acts.js';
export {
  type Act,
  type Exchange,
  type Front,
  type FrontOptions,
  type Match,
  type Message,
  type Reply,
  startFront,
} from './front/front.js';
export { type Effect, type Entry, findHeld, type Held } from './front/journal.js';
export type { ActiveDirectoryTarget, DirectoryTarget } from './targets/directories.js';
export type { KeycloakTarget } from './targets/keycloak.js';
export type { KubernetesTarget } from './targets/kubernetes.js';
export { programs } from './targets/names.js';
export type { HttpTarget, MariadbTarget } from './targets/servers.js';
export { startTarget, type Targets } from './targets/start.js';
