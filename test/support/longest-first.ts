import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

/** What takes longest: it starts browsers, servers, or dozens of processes. */
const LONGEST =
  /\/(browser\/pages|cluster\/cluster|crash\/crash|start\/(refused|running|killed)|embedded\/(start|crash|accounts)|agent\/process|test\/(story|agent-story|wizard|suggest-injections|access\.model|invariants))\.test\.ts$/;

/**
 * Starts the longest files of each project first, so that none of them runs alone at the end. Vitest knows by itself only
 * where an earlier run left its times behind, which is nowhere in CI.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) => {
      const own = sorted.filter((file) => file.project === project);
      const isLong = ({ moduleId }: TestSpecification) => LONGEST.test(moduleId);
      return [...own.filter(isLong), ...own.filter((file) => !isLong(file))];
    });
  }
}
