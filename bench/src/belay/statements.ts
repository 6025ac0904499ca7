export interface StatementCount {
  hear(connection: number, statement: string): void;
  /** Counts since the last call. */
  take(): { statements: number; commits: number };
}

/** Counts the statements that core sends to its database, and the commits that write. */
export function countStatements(): StatementCount {
  const open = new Map<number, boolean>();
  let statements = 0;
  let commits = 0;
  return {
    hear(connection, statement) {
      const verb = /^\s*([a-z]+)/i.exec(statement)?.[1]?.toLowerCase() ?? '';
      statements += 1;
      if (verb === 'begin') open.set(connection, false);
      else if (verb === 'commit') {
        if (open.get(connection)) commits += 1;
        open.delete(connection);
      } else if (verb === 'rollback') open.delete(connection);
      else if (['insert', 'update', 'delete', 'with'].includes(verb)) {
        // Outside a transaction every write is a commit of its own.
        if (open.has(connection)) open.set(connection, true);
        else commits += 1;
      }
    },
    take() {
      const taken = { statements, commits };
      statements = 0;
      commits = 0;
      return taken;
    },
  };
}
