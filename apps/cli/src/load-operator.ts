import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { CliError, usage } from './cli-error.js';
import type { Operator } from './shell.js';

/** The parts of the process that a server uses. */
export type ServerProcess = import('@belay/program').ProcessLike;

type Operations = typeof import('@belay/operations');
type Program = typeof import('@belay/program');
type Core = typeof import('@belay/core');

/** Converts an error of the installation's code into a CliError; its message is fit for an operator. */
function translate(error: unknown, program: Program, operations: Operations): unknown {
  const refused = operations.accessErrorOf(error);
  if (refused) {
    return new CliError(refused.code, refused.message, {
      ...(refused.issues && { issues: refused.issues }),
      cause: error,
    });
  }
  return error instanceof program.StartError ? new CliError('failed', error.message, { cause: error }) : error;
}

/** How many past requests `belay plan` rehearses at most. */
const mostReplayed = 5_000;

/**
 * Returns the operator's commands. The code that they share with the server is loaded when one of them runs: the other commands start
 * faster without it, and run where it is not installed.
 */
export function loadOperator(host: ServerProcess, account: () => string): Operator {
  // Log lines go to standard error, because standard output holds only the result, for example a credential.
  const write = (line: string) => void host.stderr.write(line);

  async function load<T>(
    verb: (loaded: { operations: Operations; program: Program; core: Core }) => Promise<T>,
  ): Promise<T> {
    const [operations, program, core] = await Promise.all([
      import('@belay/operations'),
      import('@belay/program'),
      import('@belay/core'),
    ]);
    try {
      return await verb({ operations, program, core });
    } catch (error) {
      throw translate(error, program, operations);
    }
  }

  function options(operations: Operations, program: Program) {
    const environment = operations.parseEnvironment(host.env);
    return { environment, name: account(), log: program.createLogger({ level: 'warn', readable: true, write }) };
  }

  /** Opens the installation's own database for one verb, and closes it. */
  const withContext = <T>(verb: (core: Core, context: import('@belay/core').ActorStore) => Promise<T>) =>
    load(async ({ operations, program, core }) => {
      const { context, close } = await operations.openOperatorContext(options(operations, program));
      try {
        return await verb(core, context);
      } finally {
        await close();
      }
    });

  function findSource(operations: Operations, path: string | undefined): string {
    const source = operations.findConfiguration(path ?? host.env.BELAY_CONFIG, host.cwd());
    if (source !== undefined) return source;
    throw usage('neither belay.yaml nor config/ exists here; pass the path of the configuration');
  }

  const vault = (operations: Operations) => ({
    environment: operations.parseEnvironment(host.env),
    directory: host.cwd(),
  });

  return {
    start: async () => {
      // The npm package of the command line has neither the server's migrations nor its pages.
      if (!existsSync(new URL('../../../packages/db/drizzle', import.meta.url))) {
        throw new CliError(
          'failed',
          'the server is not part of this package: start it from its container image, or from its repository with npm start',
        );
      }
      const { runServer } = await import('@belay/server');
      await runServer(host, async () => (await import('@belay/demo')).openDemo);
    },
    validate: (path) =>
      load(async ({ operations }) => {
        const source = findSource(operations, path);
        const result = await operations.validateConfiguration(source, host.env);
        const { ok, faults } = result;
        return { ok, source, messages: ok ? result.warnings : result.messages, faults };
      }),
    blueprints: () => load(async ({ operations }) => operations.listBlueprints()),
    init: (folder, beginning) => load(({ operations }) => operations.initConfiguration(folder, beginning)),
    testPolicies: (path, cases) =>
      load(async ({ operations }) => {
        const source = findSource(operations, path);
        const tested = await operations.testPolicies(source, cases, host.env);
        return tested.ok
          ? { valid: true, source, messages: [], cases: tested.results, untested: tested.untested }
          : { valid: false, source, messages: tested.messages, cases: [], untested: [] };
      }),
    plan: (path, against, since) =>
      load(({ operations, program }) => {
        const open = () => operations.openOperatorContext({ ...options(operations, program), readOnly: true });
        const past = since === undefined ? undefined : { since, limit: mostReplayed, open };
        return operations.planConfiguration(path, against, { variables: host.env, past });
      }),
    schema: (of) =>
      load(async ({ operations }) =>
        of === 'cases' ? operations.writeCaseSchema() : operations.writeConfigurationSchema(),
      ),
    revokeAccess: ({ of, reason }) =>
      withContext(async (core, context) => {
        const which = of.includes('@') ? { user: of } : { execution_id: of };
        const { message, revoked } = await core.revokeAccess(context, { ...which, reason });
        return { message, executions: revoked };
      }),
    beginRestore: (request) => withContext((core, context) => core.beginRestore(context, request)),
    readRestore: () => withContext((core, context) => core.readRestore(context)),
    answerLeftover: (request) => withContext((core, context) => core.answerLeftover(context, request)),
    skipProvider: (request) => withContext((core, context) => core.skipProvider(context, request)),
    openRestore: () => withContext((core, context) => core.openRestore(context)),
    archiveLedger: (folder) =>
      load(async ({ operations, program, core }) => {
        const { context, close } = await operations.openOperatorContext(options(operations, program));
        try {
          const files = operations.openArchiveFolder(resolve(host.cwd(), folder), program.newId);
          return await core.archiveLedger(context, files);
        } finally {
          await close();
        }
      }),
    verifyArchives: (folder) => load(({ operations }) => operations.verifyArchives(resolve(host.cwd(), folder))),
    createToken: (request) => withContext((core, context) => core.createToken(context, request)),
    listTokens: (request) => withContext((core, context) => core.listTokens(context, request)),
    revokeToken: (request) => withContext((core, context) => core.revokeToken(context, request)),
    stopUser: (request) => withContext((core, context) => core.stopUser(context, request)),
    separatePeople: (request) => withContext((core, context) => core.separatePeople(context, request)),
    createScimToken: (request) => withContext((core, context) => core.createProvisioningToken(context, request)),
    listScimTokens: () => withContext((core, context) => core.listProvisioningTokens(context)),
    revokeScimToken: (request) => withContext((core, context) => core.revokeProvisioningToken(context, request)),
    enrollAgent: (request) => withContext((core, context) => core.enrollAgent(context, request)),
    rotateEncryption: () =>
      load(async ({ operations, program }) => {
        const { kid, retired, created_at } = await operations.rotateEncryption({
          ...options(operations, program),
          variables: host.env,
        });
        return { kid, retired: retired ?? null, created_at };
      }),
    setSecret: (name, value) => load(({ operations }) => operations.setInVault(vault(operations), name, value)),
    listSecrets: () => load(({ operations }) => operations.listVault(vault(operations))),
    removeSecret: (name) => load(({ operations }) => operations.removeFromVault(vault(operations), name)),
  };
}
