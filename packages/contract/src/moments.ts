/** A day without a time. */
const day = /^\d{4}-\d{2}-\d{2}$/;

/** Returns the first millisecond of a moment that filters a list; without an offset it is in UTC. */
export function startOfMoment(moment: string): Date {
  const whole = day.test(moment) ? `${moment}T00:00` : moment;
  return new Date(/(?:Z|[+-]\d{2}:\d{2})$/.test(whole) ? whole : `${whole}Z`);
}

/** Returns the last millisecond of a moment that filters a list: without seconds it is the whole minute, and without a time the whole day. */
export function endOfMoment(moment: string): Date {
  const start = startOfMoment(moment).getTime();
  if (day.test(moment)) return new Date(start + 86_399_999);
  return new Date(/T\d{2}:\d{2}$/.test(moment) ? start + 59_999 : start);
}
