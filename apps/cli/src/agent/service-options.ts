/** What the service is to run. */
export interface ServiceOptions {
  /** The command line, program first. */
  command: readonly string[];
  /** What is set beside the user's own environment. */
  variables: Readonly<Record<string, string>>;
  /** The agent's data folder: the only place that it can write to. */
  dataDirectory: string;
  home: string;
}
