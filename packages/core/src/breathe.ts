/** Called between the parts of long work: yields to the event loop when this work has blocked it for long. */
export type Breathe = () => Promise<void>;

/** How long work may block the event loop, in milliseconds: too short to be noticed. */
const longest = 15;

/** Creates a `Breathe` from a clock in milliseconds. */
export function breatheBy(now: () => number): Breathe {
  let began = now();
  return async () => {
    if (now() - began < longest) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    began = now();
  };
}

/** Does not yield: for a command that serves no other requests. */
export const inOnePiece: Breathe = async () => {};
