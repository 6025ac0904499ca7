/** Returns `1.0.N`, the interface's form of a catalog's version (docs/interface.md, section 16, rule 10). */
export function versionText(version: number): string {
  return `1.0.${version}`;
}
