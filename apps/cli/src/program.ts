import { printable } from '@belay/contract/printable';
import { Command, CommanderError } from 'commander';
import { CliError } from './cli-error.js';
import { addGroup, type Parent } from './command.js';
import { addAccessList, addAccessReturn, addAccessRevoke } from './commands/access.js';
import { addAdminActs, addAdminReads } from './commands/admin.js';
import {
  addAgentEnroll,
  addAgentInstall,
  addAgentJoin,
  addAgentRun,
  addAgentStatus,
  addAgentUninstall,
} from './commands/agent.js';
import { addApprove } from './commands/approve.js';
import { addAsk, addComment } from './commands/comments.js';
import { addCompletion } from './commands/completion.js';
import { addDeny } from './commands/deny.js';
import { addDoctor } from './commands/doctor.js';
import { addEncryptionRotate } from './commands/encryption-rotate.js';
import {
  addExecutionsCancel,
  addExecutionsList,
  addExecutionsShow,
  addExecutionsTerminate,
  addExecutionsWatch,
} from './commands/executions.js';
import { addExtend } from './commands/extend.js';
import { addHistory } from './commands/history.js';
import { addInbox } from './commands/inbox.js';
import { addInit } from './commands/init.js';
import { addLedger } from './commands/ledger.js';
import { addLogin, addLogout, addWhoami } from './commands/login.js';
import { addLogs } from './commands/logs.js';
import { addNotifications } from './commands/notifications.js';
import { addOpen } from './commands/open.js';
import { addPlan } from './commands/plan.js';
import { addProviders } from './commands/providers.js';
import { addRequest } from './commands/request.js';
import { addRestore } from './commands/restore.js';
import { addReviews } from './commands/reviews.js';
import { addRoles } from './commands/roles.js';
import { addRun } from './commands/run.js';
import { addScimCreateToken, addScimListTokens, addScimRevokeToken } from './commands/scim.js';
import { addSessions } from './commands/sessions.js';
import { addStart } from './commands/start.js';
import { addTest } from './commands/test.js';
import { addTokenCreate, addTokenList, addTokenRevoke } from './commands/token.js';
import { addUserSeparate } from './commands/user-separate.js';
import { addUserStop } from './commands/user-stop.js';
import { addSchema, addValidate } from './commands/validate.js';
import { addVaultList, addVaultRemove, addVaultSet } from './commands/vault.js';
import { addWait } from './commands/wait.js';
import { exitCodes } from './exit-codes.js';
import { reportFailure } from './output/failure.js';
import type { Shell } from './shell.js';

function addCommands(root: Parent): void {
  for (const add of [
    addLogin,
    addLogout,
    addWhoami,
    addRoles,
    addRequest,
    addRun,
    addOpen,
    addWait,
    addExtend,
    addHistory,
    addInbox,
    addApprove,
    addDeny,
    addAsk,
    addComment,
  ]) {
    add(root);
  }
  addProviders(addGroup(root, 'providers', 'the providers that you can use, and their targets'));
  const executions = addGroup(root, 'executions', 'your requests and their results');
  addExecutionsList(executions);
  addExecutionsShow(executions);
  addExecutionsWatch(executions);
  addExecutionsCancel(executions);
  addExecutionsTerminate(executions);
  const access = addGroup(root, 'access', 'your active access');
  addAccessList(access);
  addAccessReturn(access);
  addAccessRevoke(access);
  addReviews(addGroup(root, 'reviews', 'reviews of emergency access'));
  addSessions(root);
  addNotifications(root);
  addLogs(root);
  const admin = addGroup(root, 'admin', 'everything, for administrators and auditors');
  addAdminReads(admin);
  addAdminActs(admin);
  const token = addGroup(root, 'token', 'bearer tokens, for operators');
  addTokenCreate(token);
  addTokenList(token);
  addTokenRevoke(token);
  const user = addGroup(root, 'user', 'people, for operators');
  addUserStop(user);
  addUserSeparate(user);
  const scim = addGroup(root, 'scim', 'directories that provision people, for operators');
  addScimCreateToken(scim);
  addScimListTokens(scim);
  addScimRevokeToken(scim);
  const agent = addGroup(root, 'agent', 'the agent of this machine');
  addAgentRun(agent);
  addAgentStatus(agent);
  addAgentJoin(agent);
  addAgentInstall(agent);
  addAgentUninstall(agent);
  addAgentEnroll(agent);
  addEncryptionRotate(addGroup(root, 'encryption', 'encryption keys, for operators'));
  addRestore(addGroup(root, 'restore', 'what follows a restore of the database, for operators'));
  addLedger(addGroup(root, 'ledger', 'archives of the audit log, for operators'));
  const vault = addGroup(root, 'vault', 'secrets that the configuration refers to, for operators');
  addVaultSet(vault);
  addVaultList(vault);
  addVaultRemove(vault);
  addInit(root);
  addValidate(root);
  addTest(root);
  addPlan(root);
  addSchema(root);
  addStart(root);
  addDoctor(root);
  addCompletion(root);
}

/** Prints the completion candidates, one per line; nothing when they are unknown. */
async function printCompletion(program: Command, words: readonly string[], shell: Shell): Promise<void> {
  const [{ complete }, { askValues }] = await Promise.all([
    import('./completion/complete.js'),
    import('./completion/ask-values.js'),
  ]);
  const found = await complete(program, words, (source) => askValues(shell, source));
  const lines =
    found === 'files' ? [':files'] : found.map(({ value, description }) => `${value}\t${printable(description)}`);
  if (lines.length > 0) shell.stdout.write(`${lines.join('\n')}\n`);
}

/** Removes the value of an unknown option from an error message, because it may be a secret: `--token=…`. */
function withoutValue(message: string): string {
  return message.replace(/^(unknown option '-[^=']*)=.*'/s, "$1'");
}

/** Matches the options whose output, including errors, is for programs. */
const machine = /^(--json|--jq|--template)(=|$)|^-[qt]/;

/**
 * Returns the words with each `--json` as `--json=`, so that it does not take an argument as its value. The next word is its value only
 * where the command has no arguments, or where the word is a list with commas.
 */
function readJsonFields(program: Command, words: readonly string[]): string[] {
  const args: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const [word = '', next = ''] = words.slice(at);
    if (word !== '--json') args.push(word);
    else if (
      /^[a-z_]+(,[a-z_]+)*$/i.test(next) &&
      (next.includes(',') || !takesArguments(program, words.slice(0, at)))
    ) {
      args.push(`--json=${next}`);
      at += 1;
    } else args.push('--json=');
  }
  return args;
}

/** Returns whether the command that the words name has arguments or subcommands. */
function takesArguments(program: Command, words: readonly string[]): boolean {
  let command = program;
  for (const word of words) command = command.commands.find((child) => child.name() === word) ?? command;
  return command.commands.length > 0 || command.registeredArguments.length > 0;
}

/** Runs one command line, without the program's name; resolves to the exit code and never throws. */
export async function runCli(given: readonly string[], shell: Shell): Promise<number> {
  let code: number = exitCodes.ok;
  // Words after `--` are for the program that `belay run` starts; they are not options of Belay.
  const end = given[0] === 'run' ? given.indexOf('--') : -1;
  let complaint = '';
  const program = new Command('belay')
    .version(shell.version, '--version', 'print the version')
    .description('Just-in-time elevated access: requested, approved, granted for a limited time, and revoked.')
    .exitOverride()
    .configureOutput({
      getOutHelpWidth: () => shell.stdout.columns ?? 80,
      getErrHelpWidth: () => shell.stdout.columns ?? 80,
      writeOut: (text) => void shell.stdout.write(text),
      writeErr: (text) => {
        complaint += text;
      },
    });
  addCommands({
    command: program,
    shell,
    words: given,
    rest: end === -1 ? [] : given.slice(end + 1),
    exit: (ended) => {
      code = ended;
    },
  });
  const words = end === -1 ? given : given.slice(0, end);
  const args = given[0] === '__complete' ? given : readJsonFields(program, words);
  try {
    if (args[0] === '__complete') {
      await printCompletion(program, args.slice(1), shell);
      return exitCodes.ok;
    }
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    const json = args.some((word) => machine.test(word));
    if (!(error instanceof CommanderError)) return await reportFailure(error, shell.stderr, json);
    if (error.exitCode === 0) return exitCodes.ok;
    // A group, or the program, without a command: its help is printed.
    if (error.code === 'commander.help' && !json) shell.stderr.write(complaint);
    const message =
      error.code === 'commander.help' ? 'no command given' : withoutValue(error.message.replace(/^error: /, ''));
    if (error.code === 'commander.help' && !json) return exitCodes.usage;
    return await reportFailure(new CliError('usage', message), shell.stderr, json);
  }
}
