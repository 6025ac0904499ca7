/**
 * Returns what a changelog says of a version. Throws when it has no heading for it.
 *
 * @param {string} changelog
 * @param {string} version
 */
export function readNotes(changelog, version) {
  const section = changelog.split(/^## (?=\[)/m).find((each) => each.startsWith(`[${version}]`));
  if (section === undefined) throw new Error(`CHANGELOG.md has no heading [${version}]: prepare the release first`);
  return section.slice(section.indexOf('\n') + 1).trim();
}
