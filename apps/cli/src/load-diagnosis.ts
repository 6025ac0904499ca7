import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Environment } from './host.js';
import type { Diagnosis } from './shell.js';

/** How long a provider may take to respond, in milliseconds. */
const patience = 5_000;

/** Variables that show, unless `BELAY_MODE` names another mode, that a server is set up on this machine. */
const telling = ['BELAY_CONFIG', 'BELAY_SECRET', 'BELAY_DATA', 'BELAY_BASE_URL', 'DATABASE_URL', 'REDIS_URL'];

/** Returns whether a server is set up on this machine. */
function isServerHere({ variables, folder }: Environment): boolean {
  const mode = variables.BELAY_MODE ?? 'server';
  const here = ['belay.yaml', 'config', '.belay'].some((name) => existsSync(path.join(folder, name)));
  return mode === 'server' && (here || telling.some((name) => variables[name]));
}

/** Returns what `belay doctor` checks. It uses the code of a server start, so that both report the same, and loads it at its first use. */
export function loadDiagnosis(host: Environment): Diagnosis {
  const { variables, folder } = host;

  async function parse() {
    const [operations, program] = await Promise.all([import('@belay/operations'), import('@belay/program')]);
    const loaded = { operations, oneLine: program.oneLine };
    try {
      return { ...loaded, environment: operations.parseEnvironment(variables), faults: [] };
    } catch (error) {
      if (!(error instanceof program.StartError)) throw error;
      return { ...loaded, environment: undefined, faults: error.message.split(/; (?=[A-Z_]+ is )/) };
    }
  }

  let inspected: ReturnType<Diagnosis['configuration']> | undefined;
  return {
    environmentFaults: async () => ((variables.BELAY_MODE ?? 'server') === 'server' ? (await parse()).faults : []),
    localServer: async () => {
      const { environment } = await parse();
      if (environment === undefined || !isServerHere(host)) return undefined;
      const { port, host: address, baseUrl, databaseUrl, redisUrl, secret, dataDirectory, trustProxy } = environment;
      const embedded = databaseUrl === undefined;
      return {
        port,
        host: address,
        baseUrl,
        redisUrl,
        secret,
        trustProxy,
        embedded,
        dataDirectory: path.resolve(folder, dataDirectory),
      };
    },
    configuration: () => {
      inspected ??= (async () => {
        const { findConfiguration, inspectConfiguration } = await import('@belay/operations');
        const source = findConfiguration(variables.BELAY_CONFIG, folder);
        if (source === undefined) return undefined;
        const inspection = await inspectConfiguration(path.resolve(folder, source), variables, patience);
        return { source, inspection };
      })();
      return inspected;
    },
    database: async () => {
      const { operations, oneLine, environment } = await parse();
      try {
        if (environment?.databaseUrl !== undefined) {
          return { kind: 'own', ...(await operations.inspectDatabase(environment.databaseUrl)) };
        }
        const dataDirectory = path.resolve(folder, environment?.dataDirectory ?? '.belay');
        return { kind: 'embedded', exists: await operations.hasEmbeddedDatabase(dataDirectory) };
      } catch (error) {
        return { kind: 'fault', message: oneLine(error) };
      }
    },
  };
}
