import { pointerSegment } from '../json.js';
import type { Json } from '../types.js';
import { ARGUMENTS, checkAlways, checkValue, isExpression } from './check-expressions.js';
import type { Checking, Names } from './check-parts.js';
import { eventFilterSchema, strategySchema } from './definition.js';

/** Checks an event consumption strategy: exactly one of `one`, `any` and `all`, and `until` with `any` only. */
export function checkStrategy(checking: Checking, path: string, value: Json, names: Names, nested = false): void {
  const { issues } = checking;
  const strategy = issues.read(strategySchema, value, path);
  if (!strategy) return;
  const given = (['one', 'any', 'all'] as const).filter((name) => strategy[name] !== undefined);
  if (given.length !== 1) {
    issues.add('ERR_INVALID', path, 'must have exactly one of one, any and all');
    return;
  }
  if (strategy.one !== undefined) checkFilter(checking, `${path}/one`, strategy.one, names);
  for (const name of ['any', 'all'] as const) {
    strategy[name]?.forEach((filter, index) => checkFilter(checking, `${path}/${name}/${index}`, filter, names));
  }
  if (strategy.until === undefined) return;
  if (nested || strategy.any === undefined) {
    issues.add('ERR_INVALID', `${path}/until`, 'until is only allowed with any, and not inside another until');
  } else if (typeof strategy.until === 'string') {
    checkAlways(issues, `${path}/until`, strategy.until, [...ARGUMENTS.task, ...names]);
  } else {
    checkStrategy(checking, `${path}/until`, strategy.until, names, true);
  }
}

function checkFilter(checking: Checking, path: string, value: Json, names: Names): void {
  const { issues } = checking;
  const filter = issues.read(eventFilterSchema, value, path);
  if (!filter) return;
  const seen = [...ARGUMENTS.task, ...names];
  checkValue(issues, `${path}/with`, filter.with, seen);
  for (const [name, item] of Object.entries(filter.with)) {
    // Attributes are compared, never searched: a pattern that silently matches nothing would be worse than an error.
    if (name !== 'data' && typeof item === 'string' && !isExpression(item) && /[\\^$*|[\]{}]/.test(item)) {
      const at = `${path}/with/${pointerSegment(name)}`;
      issues.add('ERR_UNSUPPORTED_EVENT_PATTERN', at, 'regular expressions are not supported; use ${ test("…") }');
    }
  }
  for (const [name, correlation] of Object.entries(filter.correlate ?? {})) {
    const at = `${path}/correlate/${pointerSegment(name)}`;
    checkAlways(issues, `${at}/from`, correlation.from, seen);
    if (correlation.expect !== undefined) checkValue(issues, `${at}/expect`, correlation.expect, seen);
  }
}
