import { describe } from 'vitest';

/** The one place that says which tests need root: those that start the server as root, or as several accounts. */
export const describeAsRoot = describe.runIf(process.getuid?.() === 0);

/** An ordinary account that every Unix has. */
export const NOBODY = 65534;
