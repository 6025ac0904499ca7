/** Returns the first millisecond of a moment that filters a list; without an offset it is in UTC. */
export function startOfMoment(moment: string): Date {
  return new Date(/(?:Z|[+-]\d{2}:\d{2})$/.test(moment) ? moment : `${moment}Z`);
}

/** Returns the last millisecond of a moment that filters a list: without seconds it is the whole minute. */
export function endOfMoment(moment: string): Date {
  const start = startOfMoment(moment);
  return /T\d{2}:\d{2}$/.test(moment) ? new Date(start.getTime() + 59_999) : start;
}
