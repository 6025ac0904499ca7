import { pathText } from '@belay/contract/errors';

export { pathText };

/** Returns a JSON pointer in the same notation. A name that is a number is taken for a place in a list. */
export function pointerText(pointer: string): string {
  const parts = pointer.split('/').slice(1);
  return pathText(
    parts
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
      .map((part) => (/^\d+$/.test(part) ? Number(part) : part)),
  );
}
