/**
 * Longer than a catalog statement takes, and shorter than any quarantine that counts on a call landing (R5). With the
 * silence and the first back-off it stays below the 10 s within which a target has to work again (docs/guarantees.md).
 */
const statementMilliseconds = 5_000;
const lockMilliseconds = 4_000;

/** What every connection to a target has in common. */
export const connectionOptions = {
  // A pooler between us and the server may give each transaction another connection, which named statements break.
  prepare: false,
  // Only text, numbers and booleans cross here, so the round trip that reads array types buys nothing.
  fetch_types: false,
  connect_timeout: 5,
  // Seconds of silence after which a connection that owes an answer is given up, which our patch of the driver does.
  silence_timeout: statementMilliseconds / 1000 + 2,
  // Seconds of quiet after which it asks an idle connection whether it is still there, and seconds for the answer.
  pulse: 1,
  pulse_timeout: 3,
  // Seconds until the first probe of a connection that is idle, as the one that stands by is.
  keep_alive: 10,
  onnotice: () => {},
  connection: {
    application_name: 'belay',
    // The holder may create names and operators in a schema that is open to all; they must never be found.
    search_path: 'pg_catalog',
    statement_timeout: statementMilliseconds,
    lock_timeout: lockMilliseconds,
    idle_in_transaction_session_timeout: statementMilliseconds,
  },
};
