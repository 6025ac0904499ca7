import { describe } from 'vitest';

/** Declares tests that need root: those that start the server as root, or as several accounts. */
export const describeAsRoot = describe.runIf(process.getuid?.() === 0);

/** The uid of `nobody`, an account without privileges. */
export const NOBODY = 65534;
