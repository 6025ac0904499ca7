/** Returns a path as issues have it everywhere: `roles.admin.providers[0]`. Numbers are places in a list. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text ? `${text}.${String(part)}` : String(part)),
    '',
  );
}

/** Returns a JSON pointer in the same notation. A name that is a number is taken for a place in a list. */
export function pointerText(pointer: string): string {
  const parts = pointer.split('/').slice(1);
  return pathText(
    parts
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
      .map((part) => (/^\d+$/.test(part) ? Number(part) : part)),
  );
}
