/** `1.0.N`, the interface's form of a catalog's version (design §14.10). */
export function versionText(version: number): string {
  return `1.0.${version}`;
}
