import type { Scope } from '../history.js';
import type { Person } from '../load/person.js';
import type { Random } from '../seed.js';
import type { Stage } from '../stage/open-stage.js';

/** The processes and people that a fault uses. */
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
  /** A description for the documentation and the table. */
  does: string;
  scope: Scope;
  /** A process that may have leased work is killed or stopped. */
  lease?: boolean;
  /** Belay's database cannot be used as usual. */
  database?: boolean;
  /** The fault is over as soon as it has happened: the time of the recovery counts from its start. */
  momentary?: boolean;
  /** The fault only exists where Redis is the queue. */
  redis?: boolean;
  /**
   * A process is stopped for most of a minute, while faults that leave the workers alone are injected. The text is the name of a
   * second fault, which is recorded when the process continues.
   */
  resumes?: string;
  /** The fault kills or stops workers, or needs all of them, so it is not injected while a worker is stopped. */
  workers?: boolean;
  /** Makes what the fault needs before it begins. */
  prepare?(actors: Actors, stretch: number): Promise<void>;
  /**
   * Injects and heals; `stretch` is 1 in the short form, and more in the long one. Returns work that may continue after the healing, such
   * as processes that start.
   */
  run(actors: Actors, stretch: number): Promise<{ after: Promise<unknown> } | undefined>;
}
