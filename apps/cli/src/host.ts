/** The parts of the machine and the process that `belay doctor` and `belay agent` use. */
export interface Environment {
  variables: Readonly<Record<string, string | undefined>>;
  nodeVersion: string;
  platform: NodeJS.Platform;
  home: string;
  folder: string;
  /** The files of this program: the Node.js executable, and the script that it runs. */
  program: { node: string; script: string };
  userId: number | undefined;
}
