import { Environment } from '@marcbachmann/cel-js';

/** The variable `api` in a condition on who may change a policy. */
class Api {
  constructor(readonly modified: string[]) {}
}

const environment = new Environment()
  .registerType('Api', { ctor: Api, fields: {} })
  .registerVariable('api', 'Api')
  .registerVariable('request', 'map')
  .registerFunction('Api.getAttribute(string, list): list', (api: Api, name: string, otherwise: unknown[]) =>
    name === 'iam.googleapis.com/modifiedGrantsByRole' ? api.modified : otherwise,
  )
  .registerFunction('list.hasOnly(list): bool', (some: unknown[], allowed: unknown[]) =>
    some.every((one) => allowed.includes(one)),
  );

/** Returns whether Google would accept the text as a condition. */
export function isCondition(expression: string): boolean {
  const { valid, type } = environment.check(expression);
  return valid && type === 'bool';
}

/** Returns whether a condition is true at a time, for a change of the grants of the roles `modified`. */
export function isMet(expression: string, at: number, modified: string[] = []): boolean {
  return environment.evaluate(expression, { request: { time: new Date(at) }, api: new Api(modified) }) === true;
}
