import type { CallFunction } from '@belay/engine';
import { approve } from './approve.js';
import { grant } from './grant.js';
import { hold } from './hold.js';
import { notify } from './notify.js';
import { revoke } from './revoke.js';
import { validate } from './validate.js';

/** The functions of core that a workflow can call, by the name that it calls them. */
export const accessFunctions: Readonly<Record<string, CallFunction>> = {
  'access.validate': validate,
  'access.approve': approve,
  'access.grant': grant,
  'access.hold': hold,
  'access.revoke': revoke,
  'access.notify': notify,
};
