import { type Authorizer, type Connector, Retryable } from '@belay/providers';
import { createMemoryConnector, type MemoryProvider } from '@belay/providers/testkit';

/** Whether a call to a silent system ends when it is aborted. */
export type Stubborn = 'stops' | 'goes on';

export interface Silence {
  /** The calls that get no response now. */
  operations: ReadonlySet<keyof Authorizer | 'find' | 'check'>;
  /** How many calls wait for a response. */
  waiting: number;
  /** How many calls of `check` got no response. */
  asked: number;
}

/** Returns a memory connector whose calls get no response while `silence` names them. */
export function silentConnector(
  type: string,
  state: MemoryProvider,
  options: { silence: Silence; stubborn: Stubborn },
): Connector {
  const { silence, stubborn } = options;
  const inner = createMemoryConnector(state);
  const muting = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(object, property, receiver) {
        const value: unknown = Reflect.get(object, property, receiver);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) => {
          if (!silence.operations.has(property as 'check')) return value.apply(object, given);
          silence.waiting += 1;
          if (property === 'check') silence.asked += 1;
          const signal = given.find((one): one is AbortSignal => one instanceof AbortSignal);
          return new Promise((_resolve, reject) => {
            if (stubborn === 'goes on') return;
            signal?.addEventListener('abort', () => {
              silence.waiting -= 1;
              reject(new Retryable('The provider did not respond in time'));
            });
          });
        };
      },
    });
  return {
    ...inner,
    type,
    create: (config, tools) => {
      const client = inner.create(config as never, tools);
      if (!client.authorizer || !client.identities) throw new Error('The memory connector has both');
      const { authorizer, identities } = client;
      return muting({ ...client, authorizer: muting(authorizer), identities: muting(identities) });
    },
  } as Connector;
}
