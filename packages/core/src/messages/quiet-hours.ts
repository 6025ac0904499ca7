/** Hours of the day in which a person is told only what is urgent. */
export interface QuietHours {
  from: string;
  to: string;
  timeZone: string;
}

const day = 24 * 60;

/** Returns how long the quiet hours still last, in milliseconds; 0 outside of them. */
export function untilQuietEnds({ from, to, timeZone }: QuietHours, now: Date): number {
  const time = minutesOf(localTime(now, timeZone));
  const since = (time - minutesOf(from) + day) % day;
  const length = (minutesOf(to) - minutesOf(from) + day) % day;
  return since < length ? (length - since) * 60_000 : 0;
}

function localTime(now: Date, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(
    now,
  );
}

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}
