/**
 * A default of each setting that changes what a statement means, or that ends a session by itself, as an administrator might have set it
 * for a database or a role: `name = value`, as `alter database … set` takes it.
 */
export const hostileSettings = [
  "DateStyle = 'German, DMY'",
  "IntervalStyle = 'sql_standard'",
  "TimeZone = 'Asia/Kathmandu'",
  "bytea_output = 'escape'",
  'extra_float_digits = -15',
  'standard_conforming_strings = off',
  "client_encoding = 'LATIN1'",
  'array_nulls = off',
  'transform_null_equals = on',
  "search_path = 'elsewhere', '$user'",
  "default_transaction_isolation = 'serializable'",
  'exit_on_error = on',
  'idle_session_timeout = 700',
  'idle_in_transaction_session_timeout = 1',
  'lock_timeout = 1',
  'statement_timeout = 1',
  'synchronous_commit = off',
] as const;

/** Returns the statements that make these the defaults of a database (`database x`) or of a role (`role y`). */
export function makeHostile(whom: string, version: number): string[] {
  const settings = [...hostileSettings, ...(version >= 170_000 ? (['transaction_timeout = 700'] as const) : [])];
  return settings.map((setting) => `alter ${whom} set ${setting}`);
}
