import { CliError, usage } from './cli-error.js';
import type { Operator } from './shell.js';

/** The process as far as the server's own program uses it. */
export type ServerProcess = Parameters<typeof import('@belay/server').runServer>[0];

/**
 * The operator's commands, out of the server's own program. It is loaded when one of them runs and not before: the other
 * commands start faster without it, and work where it is not installed.
 */
export function loadOperator(host: ServerProcess, account: string): Operator {
  return {
    start: async () => (await import('@belay/server')).runServer(host),
    validate: async (path) => {
      const { findConfiguration, validateConfiguration } = await import('@belay/server');
      const source = findConfiguration(path ?? host.env.BELAY_CONFIG, host.cwd());
      if (source === undefined) throw usage('there is neither belay.yaml nor config/ here; name the configuration');
      const result = await validateConfiguration(source, host.env);
      return { ok: result.ok, source, messages: result.ok ? result.warnings : result.messages };
    },
    revokeAccess: (request) => withContext((core, context) => core.revokeAccess(context, request)),
    createToken: (request) => withContext((core, context) => core.createToken(context, request)),
    enrollAgent: (request) => withContext((core, context) => core.enrollAgent(context, request)),
  };

  /** Opens the installation's own database for one verb, and gives it back. */
  async function withContext<T>(
    verb: (core: typeof import('@belay/core'), context: import('@belay/core').ActorContext) => Promise<T>,
  ): Promise<T> {
    const [server, core] = await Promise.all([import('@belay/server'), import('@belay/core')]);
    // Standard output holds the credential and nothing else.
    const write = (line: string) => void host.stderr.write(line);
    try {
      const environment = server.parseEnvironment(host.env);
      const log = server.createLogger({ level: 'warn', readable: true, write });
      const { context, close } = await server.openOperatorContext({ environment, name: account, log });
      try {
        return await verb(core, context);
      } finally {
        await close();
      }
    } catch (error) {
      if (error instanceof core.AccessError) {
        throw new CliError(error.code, error.message, {
          ...(error.issues && { issues: error.issues }),
          cause: error,
        });
      }
      if (error instanceof server.StartError) throw new CliError('failed', error.message, { cause: error });
      throw error;
    }
  }
}
