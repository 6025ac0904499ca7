import type { Context } from '@belay/core';
import type { House } from '../../../../test/support/house.js';

export interface Gate {
  /** A worker whose next such call stands still before the provider hears of it, as one that is paused would. */
  ctx: Context;
  /** Resolves when the call stands at the gate. */
  reached: Promise<void>;
  open(): void;
}

type Paused = 'holds' | 'ensurePresent' | 'ensureAbsent' | 'deliver';

/** A second worker of the house whose first call of `operation` waits at a gate; `after`: with its effect done, its answer under way. */
export function gateOf(house: House, operation: Paused, when: 'before' | 'after' = 'before'): Gate {
  let reach: () => void = () => {};
  let open: () => void = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  let passed = false;
  const pausing = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(inner, property, receiver) {
        const value: unknown = Reflect.get(inner, property, receiver);
        if (property !== operation || typeof value !== 'function' || passed) return value;
        return async (...given: unknown[]) => {
          if (passed) return value.apply(inner, given);
          passed = true;
          if (when === 'before') {
            reach();
            await opened;
            return value.apply(inner, given);
          }
          const answer: unknown = await value.apply(inner, given);
          reach();
          await opened;
          return answer;
        };
      },
    });
  const client = (provider: string) => {
    const ready = house.catalog.client(provider);
    if (!ready?.authorizer || !ready.notifications) return ready;
    return { ...ready, authorizer: pausing(ready.authorizer), notifications: pausing(ready.notifications) };
  };
  return { ctx: { ...house.ctx, catalog: { current: () => house.catalog.current(), client } }, reached, open };
}
