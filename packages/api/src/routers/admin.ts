import { adminOperations } from '@belay/contract/admin';
import { auditColumns } from '@belay/contract/csv';
import { limits } from '@belay/contract/limits';
import {
  acceptLeft,
  answerLeftover,
  beginRestore,
  compareConfigurations,
  confirmSameTarget,
  endOtherLogin,
  exportAudit,
  getPerson,
  listAgents,
  listAllAccess,
  listAudit,
  listConfigurations,
  listOverdue,
  listPeople,
  openRestore,
  readRestore,
  readSameTarget,
  removeAgent,
  retryRevocation,
  revokeAccess,
  separatePeople,
  skipProvider,
  stopUser,
} from '@belay/core';
import { authenticated } from '../procedures.js';
import { linkNext } from '../reply.js';
import { router } from '../trpc.js';

const tags = ['administration'];
const contentTypes: ('application/json' | 'application/x-www-form-urlencoded')[] = [
  'application/json',
  'application/x-www-form-urlencoded',
];
const redirect = { redirect: { status: 303, always: false } } as const;

export const adminRouter = router({
  access: authenticated
    .meta({
      openapi: { method: 'GET', path: '/admin/access', tags, summary: 'List the access that people hold now' },
      rest: { html: 'offered', shown: limits.shown },
    })
    .input(adminOperations.access.input)
    .output(adminOperations.access.output)
    .query(async ({ ctx, input }) => linkNext(ctx, await listAllAccess(ctx.caller, input))),
  revoke: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/admin/access/revoke',
        tags,
        summary: 'Revoke access of a person, at a provider, of a role or of one request, as an administrator',
        contentTypes,
      },
      rest: redirect,
    })
    .input(adminOperations.revoke.input)
    .output(adminOperations.revoke.output)
    .mutation(({ ctx, input }) => revokeAccess(ctx.caller, input)),
  overdue: authenticated
    .meta({
      openapi: { method: 'GET', path: '/admin/overdue', tags, summary: 'List the revocations that are overdue' },
      rest: { html: 'offered', shown: limits.shown },
    })
    .input(adminOperations.overdue.input)
    .output(adminOperations.overdue.output)
    .query(async ({ ctx, input }) => linkNext(ctx, await listOverdue(ctx.caller, input))),
  retry: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/admin/overdue/{id}/retry',
        tags,
        summary: 'Make an overdue revocation due now, as an administrator',
        contentTypes,
      },
      rest: redirect,
    })
    .input(adminOperations.retry.input)
    .output(adminOperations.retry.output)
    .mutation(({ ctx, input }) => retryRevocation(ctx.caller, input)),
  accept: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/admin/overdue/{id}/accept',
        tags,
        summary: 'Accept what a revocation left because it was given by others, as an administrator',
        contentTypes,
      },
      rest: redirect,
    })
    .input(adminOperations.accept.input)
    .output(adminOperations.accept.output)
    .mutation(({ ctx, input }) => acceptLeft(ctx.caller, input)),
  logs: authenticated
    .meta({
      openapi: { method: 'GET', path: '/admin/logs', tags, summary: 'Search the whole audit log' },
      rest: { html: 'offered', shown: limits.shown },
    })
    .input(adminOperations.logs.input)
    .output(adminOperations.logs.output)
    .query(async ({ ctx, input }) => linkNext(ctx, await listAudit(ctx.caller, input))),
  exportLogs: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/admin/logs/export',
        tags,
        summary: 'Export the audit log: all of it as CSV or NDJSON, or one page as JSON',
      },
      rest: { stream: 'logs', csv: auditColumns },
    })
    .input(adminOperations.exportLogs.input)
    .output(adminOperations.exportLogs.output)
    .query(({ ctx, input }) => exportAudit(ctx.caller, input)),
  configurations: authenticated
    .meta({
      openapi: { method: 'GET', path: '/admin/configuration', tags, summary: 'List the versions of the configuration' },
      rest: { html: 'offered', shown: limits.shown },
    })
    .input(adminOperations.configurations.input)
    .output(adminOperations.configurations.output)
    .query(async ({ ctx, input }) => linkNext(ctx, await listConfigurations(ctx.caller, input))),
  configuration: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/admin/configuration/{version}',
        tags,
        summary: 'Compare a version of the configuration with another',
      },
      rest: { html: 'offered' },
    })
    .input(adminOperations.configuration.input)
    .output(adminOperations.configuration.output)
    .query(({ ctx, input }) => compareConfigurations(ctx.caller, input)),
  people: authenticated
    .meta({
      openapi: { method: 'GET', path: '/admin/people', tags, summary: 'List the people who have signed in' },
      rest: { html: 'offered', shown: limits.shown },
    })
    .input(adminOperations.people.input)
    .output(adminOperations.people.output)
    .query(async ({ ctx, input }) => linkNext(ctx, await listPeople(ctx.caller, input))),
  person: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/admin/people/{user}',
        tags,
        summary: 'Read a person with their logins, access and open requests',
      },
      rest: { html: 'offered' },
    })
    .input(adminOperations.person.input)
    .output(adminOperations.person.output)
    .query(({ ctx, input }) => getPerson(ctx.caller, input)),
  stop: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/admin/people/{user}/stop',
        tags,
        summary: 'Stop a person: end their logins, requests and access, as an administrator',
        contentTypes,
      },
      rest: redirect,
    })
    .input(adminOperations.stop.input)
    .output(adminOperations.stop.output)
    .mutation(async ({ ctx, input }) => ({ status: 'ok', ...(await stopUser(ctx.caller, input)) })),
  separate: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/admin/people/{user}/separate',
        tags,
        summary: 'Record that two accounts that share an address belong to two people, as an administrator',
        contentTypes,
      },
      rest: redirect,
    })
    .input(adminOperations.separate.input)
    .output(adminOperations.separate.output)
    .mutation(async ({ ctx, input }) => ({ status: 'ok', ...(await separatePeople(ctx.caller, input)) })),
  endLogin: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/admin/logins/{id}/end',
        tags,
        summary: 'End one login or token of a person, as an administrator',
        contentTypes,
      },
      rest: redirect,
    })
    .input(adminOperations.endLogin.input)
    .output(adminOperations.endLogin.output)
    .mutation(({ ctx, input }) => endOtherLogin(ctx.caller, input)),
  agents: authenticated
    .meta({
      openapi: { method: 'GET', path: '/admin/agents', tags, summary: 'List the agents that are enrolled' },
      rest: { html: 'offered', shown: limits.shown },
    })
    .input(adminOperations.agents.input)
    .output(adminOperations.agents.output)
    .query(async ({ ctx, input }) => linkNext(ctx, await listAgents(ctx.caller, input))),
  removeAgent: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/admin/agents/{id}/remove',
        tags,
        summary: 'Remove an agent, as an administrator',
        contentTypes,
      },
      rest: redirect,
    })
    .input(adminOperations.removeAgent.input)
    .output(adminOperations.removeAgent.output)
    .mutation(({ ctx, input }) => removeAgent(ctx.caller, input)),
  restore: authenticated
    .meta({
      openapi: { method: 'GET', path: '/admin/restore', tags, summary: 'Read what grants wait for after a restore' },
    })
    .output(adminOperations.restore.output)
    .query(({ ctx }) => readRestore(ctx.caller)),
  beginRestore: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/admin/restore',
        tags,
        summary: 'Stop all grants until every provider was compared with the restored database',
      },
    })
    .input(adminOperations.beginRestore.input)
    .output(adminOperations.beginRestore.output)
    .mutation(async ({ ctx, input }) => {
      await beginRestore(ctx.caller, input);
      return { status: 'ok', message: 'Nothing is granted until every provider was compared and grants are permitted' };
    }),
  answerLeftover: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/admin/restore/leftovers/{id}',
        tags,
        summary: 'Revoke or keep access that was found after a restore',
      },
    })
    .input(adminOperations.answerLeftover.input)
    .output(adminOperations.answerLeftover.output)
    .mutation(async ({ ctx, input }) => ({ status: 'ok', ...(await answerLeftover(ctx.caller, input)) })),
  skipProvider: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/admin/restore/providers/{provider}/skip',
        tags,
        summary: 'Do not compare a provider that does not respond after a restore',
      },
    })
    .input(adminOperations.skipProvider.input)
    .output(adminOperations.skipProvider.output)
    .mutation(async ({ ctx, input }) => ({ status: 'ok', ...(await skipProvider(ctx.caller, input)) })),
  openRestore: authenticated
    .meta({
      openapi: { method: 'POST', path: '/admin/restore/open', tags, summary: 'Permit grants again after a restore' },
    })
    .output(adminOperations.openRestore.output)
    .mutation(async ({ ctx }) => ({ status: 'ok', ...(await openRestore(ctx.caller)) })),
  target: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/admin/providers/{provider}/target',
        tags,
        summary: 'Compare what is held at a provider with the server that responds now',
      },
    })
    .input(adminOperations.target.input)
    .output(adminOperations.target.output)
    .query(({ ctx, input }) => readSameTarget(ctx.caller, input)),
  confirmTarget: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/admin/providers/{provider}/same',
        tags,
        summary: 'Confirm that a provider leads to the target where its access is held',
      },
    })
    .input(adminOperations.confirmTarget.input)
    .output(adminOperations.confirmTarget.output)
    .mutation(({ ctx, input }) => confirmSameTarget(ctx.caller, input)),
});
