import type { Shape } from './shapes.js';

export interface SectionOptions {
  quick: boolean;
  /** How `statements` performs its elevation. */
  over: 'core' | 'http';
  shapes: readonly Shape[];
  rounds: number | undefined;
  /** The contenders beside Belay; all of them when absent. */
  beside: readonly string[] | undefined;
  before: string | undefined;
  beforeFolder: string | undefined;
}

export type Write = (text?: string) => void;

export interface Section {
  title: string;
  /** Whether it only runs when it is named, because it prints no figures of docs/benchmarks.md. */
  named?: boolean;
  print(write: Write, options: SectionOptions): Promise<void>;
}
