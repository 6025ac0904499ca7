export interface StatementCount {
  hear(connection: number, statement: string): void;
  /** Counts since the last call. */
  take(): { statements: number; commits: number };
}

/** Returns whether a statement writes rows. */
export function isWriting(statement: string): boolean {
  return /^\s*(insert|update|delete|with)\b/i.test(statement) && writes.test(statement);
}

const writes = /\b(insert into|delete from|(?<!for |for no key )update)\b/i;

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
      else if (isWriting(statement)) {
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
