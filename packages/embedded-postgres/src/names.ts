/** The names that an embedded server uses: of its superuser, files, folders and account. */
export interface Names {
  superuser: string;
  /** The account that PostgreSQL runs as when it is started by root. */
  account: string;
  /** The file that holds our settings, in the folder of the cluster; postgresql.conf includes it last. */
  settings: string;
  /** The folder for a cluster when root's data folder, for example in /root, is closed to the server's account. */
  sharedFolder: string;
}

/** Returns the names that follow from `name`. Throws a `RangeError` for one that is not a word in lower case. */
export function nameAll(name: string): Names {
  if (!/^[a-z][a-z0-9_]{0,20}$/.test(name))
    throw new RangeError(`name: ${JSON.stringify(name)} is not a word in lower case`);
  return {
    superuser: name,
    account: `${name}-postgres`,
    settings: `${name}.conf`,
    sharedFolder: `/var/lib/${name}`,
  };
}
