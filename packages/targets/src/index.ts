export { type GithubOptions, startGithub } from './emulators/github.js';
export { type OktaOptions, startOkta } from './emulators/okta.js';
export {
  type SlackClick,
  type SlackMessage,
  type SlackOptions,
  type SlackTarget,
  startSlack,
} from './emulators/slack.js';
export { startEmulator } from './emulators/start.js';
export {
  answer,
  type CallLimit,
  gate,
  holdBack,
  limitCalls,
  loseAnswer,
  loseRequest,
  meanwhile,
  misbehave,
  rewrite,
  stale,
  throttle,
} from './front/acts.js';
export { type Act, type Exchange, type Front, type Message, type Reply, startFront } from './front/front.js';
export { type Entry, findHeld, type Held } from './front/journal.js';
export type { ActiveDirectoryTarget, SlapdTarget } from './targets/directories.js';
export type { KubernetesTarget } from './targets/kubernetes.js';
export { programs } from './targets/names.js';
export type { MariadbTarget } from './targets/servers.js';
export { startTarget, type Targets } from './targets/start.js';
