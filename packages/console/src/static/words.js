// Times in words, the same as the server's (pages/words.ts); a test compares both.
// @ts-check

/** Returns a remaining time in words. @param {number} milliseconds */
export function leftInWords(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds <= 0) return 'no time left';
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor((seconds % 86_400) / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  if (days > 0) return `${days} d ${hours} h left`;
  if (hours > 0) return `${hours} h ${minutes} min left`;
  if (minutes > 0) return `${minutes} min ${seconds % 60} s left`;
  return `${seconds} s left`;
}

/** Returns a moment relative to now in words. @param {number} milliseconds */
export function relativeInWords(milliseconds) {
  const seconds = Math.abs(milliseconds) / 1000;
  if (seconds < 45) return milliseconds > 0 ? 'in a moment' : 'just now';
  const text =
    seconds < 5400
      ? count(Math.round(seconds / 60), 'minute')
      : seconds < 129_600
        ? count(Math.round(seconds / 3600), 'hour')
        : count(Math.round(seconds / 86_400), 'day');
  return milliseconds > 0 ? `in ${text}` : `${text} ago`;
}

/** @param {number} number @param {string} unit */
function count(number, unit) {
  return `${number} ${unit}${number === 1 ? '' : 's'}`;
}
