/** The machine and the process as far as `belay doctor` and `belay agent` look at them. */
export interface Environment {
  variables: Readonly<Record<string, string | undefined>>;
  nodeVersion: string;
  platform: NodeJS.Platform;
  home: string;
  folder: string;
  /** The files that this program is: what runs it, and what it runs. */
  program: { node: string; script: string };
  userId: number | undefined;
}
