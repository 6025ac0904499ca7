-- The one clock of the database. A test database replaces it with a function that reads a row.
CREATE FUNCTION app_now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS 'select now()';
