/**
 * Returns the notes of a version from a changelog. Throws when it has no heading for the version.
 *
 * @param {string} changelog
 * @param {string} version
 */
export function readNotes(changelog, version) {
  const section = changelog.split(/^## (?=\[)/m).find((each) => each.startsWith(`[${version}]`));
  if (section === undefined) throw new Error(`CHANGELOG.md has no heading [${version}]: prepare the release first`);
  return section.slice(section.indexOf('\n') + 1).trim();
}
