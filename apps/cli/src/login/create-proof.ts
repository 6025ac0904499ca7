import { createHash } from 'node:crypto';

/** The two halves of PKCE (RFC 7636, S256): the challenge goes with the browser, the verifier stays here. */
export interface Proof {
  verifier: string;
  challenge: string;
}

/** Makes a proof from 32 random bytes. */
export function createProof(random: Uint8Array): Proof {
  const verifier = Buffer.from(random).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}
