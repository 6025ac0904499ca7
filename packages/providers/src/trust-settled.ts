import { TargetDoubted } from './errors.js';
import type { Sighting, Trust } from './history.js';

/** Believes every server that can settle something: what an authorizer does without a memory of its target. */
export const trustSettled: Trust = async (look) => refuseUnsettling(await look());

/** Throws `TargetDoubted` when the server can settle nothing. */
function refuseUnsettling({ unsettling }: Sighting): void {
  if (unsettling !== null) throw new TargetDoubted(`The server ${unsettling}, so it settles nothing`);
}
