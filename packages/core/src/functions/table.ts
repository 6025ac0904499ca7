import { approve } from './approve.js';
import type { CallFunction } from './function.js';
import { grant } from './grant.js';
import { hold } from './hold.js';
import { http } from './http.js';
import { notify } from './notify.js';
import { revoke } from './revoke.js';
import { validate } from './validate.js';

/** Every function that a step can call, by the name a workflow calls it (design §16). */
export const functions: ReadonlyMap<string, CallFunction> = new Map([
  ['http', http],
  ['access.validate', validate],
  ['access.approve', approve],
  ['access.grant', grant],
  ['access.hold', hold],
  ['access.revoke', revoke],
  ['access.notify', notify],
]);
