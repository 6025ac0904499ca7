/** Called between the parts of long work: gives others the event loop when this work has held it for long. */
export type Breathe = () => Promise<void>;

/** How long a piece of work holds the event loop, in milliseconds: short beside what anyone would notice. */
const longest = 15;

/** Makes a `Breathe` from a clock in milliseconds. */
export function breatheBy(now: () => number): Breathe {
  let began = now();
  return async () => {
    if (now() - began < longest) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    began = now();
  };
}

/** For a command that serves nobody else. */
export const inOnePiece: Breathe = async () => {};
