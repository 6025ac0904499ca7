import { connect } from '../connect.js';
import type { Shell } from '../shell.js';
import { within } from '../within.js';
import type { Candidate } from './complete.js';
import type { ValueSource } from './value-sources.js';

/** The longest time that a completion may take, in milliseconds. */
const patience = 1_500;

/** Matches values that every shell takes literally: bash inserts a candidate unquoted, so that `$(…)` would run. */
const plain = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/**
 * Returns values from the server or agent; none when it is unavailable, slow, or the user is not signed in. Names and ids of Belay
 * match `plain`; other values are dropped.
 */
export async function askValues(shell: Shell, source: ValueSource): Promise<Candidate[]> {
  return (await ask(shell, source)).filter(({ value }) => plain.test(value));
}

async function ask(shell: Shell, source: ValueSource): Promise<Candidate[]> {
  const signal = within(shell.signal, patience);
  try {
    const anywhere = source === 'roles' || source === 'providers';
    const { client } = await connect({ ...shell, signal }, undefined, anywhere ? 'any' : 'server');
    switch (source) {
      case 'roles':
        return Object.values((await client.roles.list({}, { signal })).roles).map(({ role }) => ({
          value: role.name,
          description: role.description,
        }));
      case 'providers':
        return (await client.providers.list({}, { signal })).providers.map(({ _id, _source }) => ({
          value: _id,
          description: _source.description,
        }));
      case 'authenticators':
        return (await client.auth.providers({ signal })).providers.map(({ id, name }) => ({
          value: id,
          description: name,
        }));
      case 'executions':
        return (await client.executions.list({ signal })).executions.map(({ workflow_id, role, status }) => ({
          value: workflow_id,
          description: `${role}, ${status}`,
        }));
      case 'approvals':
        return (await client.approvals.list({}, { signal, limit: 100 })).approvals.map(({ id, role, requester }) => ({
          value: id,
          description: `${role} for ${requester.email}`,
        }));
      case 'access':
        return (await client.access.list({ signal })).access.map(({ execution_id, role, provider }) => ({
          value: execution_id,
          description: `${role} at ${provider}`,
        }));
      case 'files':
        return [];
    }
  } catch {
    return [];
  }
}
