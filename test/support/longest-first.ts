import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

/** Files that take 15 seconds or more on an idle machine: they start browsers, servers or many processes, or run series of faults. */
const LONGEST = [
  /\/server\/test\/(browser\/(pages|many-roles|tour)|cluster\/cluster|start\/(refused|running|killed|warnings.series))\.test/,
  /\/server\/test\/(attacks\/demo|http\/(contract|outage))\.test/,
  /\/cli\/test\/(wizard|story|run|agent-story)\.test/,
  /\/agent\/test\/(follow|process|browser\/pages)\.test/,
  /\/core\/test\/(crash\/crash|access\.model|approval-lifetime|growth|invariants|messages|outage|plans|sessions|suggest-injections)\.test/,
  /\/providers\/test\/((postgres|okta|github)\/conformance|(aws|entra|github)\/faults|ldap\/conformance\.on-samba)/,
  /\/embedded-postgres\/test\/(start|crash|accounts)\.test/,
  /\/workflow\/test\/(pool|schema)\.test/,
  /\/worker\/test\/(redis\/)?contract\.test/,
  /\/test\/published\.test/,
];

/**
 * Starts the longest files of each project first, so that none of them runs alone at the end. Vitest itself only knows the times of
 * an earlier run, which do not exist in CI.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) => {
      const own = sorted.filter((file) => file.project === project);
      const isLong = ({ moduleId }: TestSpecification) => LONGEST.some((one) => one.test(moduleId));
      return [...own.filter(isLong), ...own.filter((file) => !isLong(file))];
    });
  }
}
