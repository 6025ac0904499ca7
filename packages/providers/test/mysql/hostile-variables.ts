/** Defaults of a server with which statements mean something else, or are cut short. */
export const hostileVariables: Record<string, string> = {
  sql_mode: "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,EMPTY_STRING_IS_NULL'",
  time_zone: "'-09:30'",
  autocommit: '0',
  sql_select_limit: '1',
  sql_auto_is_null: '1',
  sql_safe_updates: '1',
  group_concat_max_len: '4',
  lock_wait_timeout: '1',
  wait_timeout: '1',
  max_statement_time: '0.5',
  tx_isolation: "'SERIALIZABLE'",
  character_set_client: "'latin1'",
  character_set_results: "'latin1'",
  collation_connection: "'latin1_swedish_ci'",
  init_connect: "'set names latin1, sql_select_limit = 1, autocommit = 0'",
};
