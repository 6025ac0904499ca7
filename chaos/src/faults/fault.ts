import type { Scope } from '../history.js';
import type { Person } from '../load/person.js';
import type { Random } from '../seed.js';
import type { Stage } from '../stage/open-stage.js';

/** What a fault is done to, and with. */
export interface Actors {
  stage: Stage;
  random: Random;
  /** People who request only as part of a fault. */
  debtors: readonly Person[];
  /** A person who starts workflows that are a burden. */
  burden: Person;
  wait(milliseconds: number): Promise<void>;
}

export interface Fault {
  name: string;
  /** What it is, for the documentation and the table. */
  does: string;
  scope: Scope;
  /** A process that may have leased work is killed or stopped. */
  lease?: boolean;
  /** Belay's database cannot be used as usual. */
  database?: boolean;
  /** It is over as soon as it has happened: the clock of the recovery starts with it. */
  momentary?: boolean;
  /** Only where Redis is the queue. */
  redis?: boolean;
  /**
   * It takes most of a minute until a process goes on, and others are injected meanwhile, which leave the workers alone.
   * The name is that of the second fault: that the process goes on.
   */
  resumes?: string;
  /** It kills or stops workers, or needs all of them, so it cannot be beside one that is stopped. */
  workers?: boolean;
  /** What has to be there before it begins. */
  prepare?(actors: Actors, stretch: number): Promise<void>;
  /**
   * Injects and heals; `stretch` is 1 in the short form, and more in the long one. Returns what may still go on after the healing, such as processes
   * that start.
   */
  run(actors: Actors, stretch: number): Promise<{ after: Promise<unknown> } | undefined>;
}
