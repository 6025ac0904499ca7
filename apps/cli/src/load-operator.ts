import { CliError, usage } from './cli-error.js';
import type { Operator } from './shell.js';

/** The process as far as the server's own program uses it. */
export type ServerProcess = Parameters<typeof import('@belay/server').runServer>[0];

type Server = typeof import('@belay/server');
type Core = typeof import('@belay/core');

/** A failure of the server's own program as one of ours: its message is fit for an operator. */
function translate(error: unknown, server: Server, core: Core): unknown {
  if (error instanceof core.AccessError) {
    return new CliError(error.code, error.message, {
      ...(error.issues && { issues: error.issues }),
      cause: error,
    });
  }
  return error instanceof server.StartError ? new CliError('failed', error.message, { cause: error }) : error;
}

/**
 * The operator's commands, out of the server's own program. It is loaded when one of them runs and not before: the other
 * commands start faster without it, and work where it is not installed.
 */
export function loadOperator(host: ServerProcess, account: string): Operator {
  // Standard output holds the credential and nothing else.
  const write = (line: string) => void host.stderr.write(line);

  async function load<T>(verb: (server: Server, core: Core) => Promise<T>): Promise<T> {
    const [server, core] = await Promise.all([import('@belay/server'), import('@belay/core')]);
    try {
      return await verb(server, core);
    } catch (error) {
      throw translate(error, server, core);
    }
  }

  function options(server: Server) {
    const environment = server.parseEnvironment(host.env);
    return { environment, name: account, log: server.createLogger({ level: 'warn', readable: true, write }) };
  }

  /** Opens the installation's own database for one verb, and gives it back. */
  const withContext = <T>(verb: (core: Core, context: import('@belay/core').ActorContext) => Promise<T>) =>
    load(async (server, core) => {
      const { context, close } = await server.openOperatorContext(options(server));
      try {
        return await verb(core, context);
      } finally {
        await close();
      }
    });

  const vault = (server: Server) => ({ environment: server.parseEnvironment(host.env), directory: host.cwd() });

  return {
    start: async () => (await import('@belay/server')).runServer(host),
    validate: (path) =>
      load(async ({ findConfiguration, validateConfiguration }) => {
        const source = findConfiguration(path ?? host.env.BELAY_CONFIG, host.cwd());
        if (source === undefined) throw usage('there is neither belay.yaml nor config/ here; name the configuration');
        const result = await validateConfiguration(source, host.env);
        return { ok: result.ok, source, messages: result.ok ? result.warnings : result.messages };
      }),
    revokeAccess: (request) => withContext((core, context) => core.revokeAccess(context, request)),
    createToken: (request) => withContext((core, context) => core.createToken(context, request)),
    listTokens: (request) => withContext((core, context) => core.listTokens(context, request)),
    revokeToken: (request) => withContext((core, context) => core.revokeToken(context, request)),
    stopUser: (request) => withContext((core, context) => core.stopUser(context, request)),
    enrollAgent: (request) => withContext((core, context) => core.enrollAgent(context, request)),
    rotateEncryption: () =>
      load(async (server) => {
        const { kid, retired, created_at } = await server.rotateEncryption({ ...options(server), variables: host.env });
        return { kid, retired: retired ?? null, created_at };
      }),
    setSecret: (name, value) => load((server) => server.setInVault(vault(server), name, value)),
    listSecrets: () => load((server) => server.listVault(vault(server))),
    removeSecret: (name) => load((server) => server.removeFromVault(vault(server), name)),
  };
}
