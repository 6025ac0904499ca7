import { parseDuration } from '@belay/contract/durations';

const units = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 };

/** Returns a duration in milliseconds, from ISO 8601 (`PT1H30M`) or the short form (`1h30m`); undefined when it is neither. */
export function readDuration(text: string): number | undefined {
  try {
    return parseDuration(text.trim());
  } catch {
    return undefined;
  }
}

/** Formats milliseconds in the two largest units: `1d 3h`, `18m 20s`; `0s` for zero and less. */
export function describeDuration(milliseconds: number): string {
  let rest = Math.max(0, Math.round(milliseconds / 1000) * 1000);
  const parts: string[] = [];
  for (const [unit, size] of Object.entries(units)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts.slice(0, 2).join(' ') || '0s';
}

/** Returns the time left until an ISO 8601 instant; undefined when there is no end. */
export function describeTimeLeft(until: string | null | undefined, now: Date): string | undefined {
  const end = Date.parse(until ?? '');
  return Number.isNaN(end) ? undefined : describeDuration(end - now.getTime());
}
