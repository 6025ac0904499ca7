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
