-- Locks a person (as stopping them does) and then reads whether their login is live and how many requests they have open. Volatile: each
-- of its statements has its own snapshot, so what is counted was read under the lock, within the statement that starts a request.
CREATE FUNCTION admit_request(person uuid, login uuid, OUT live boolean, OUT open integer) LANGUAGE plpgsql VOLATILE AS '
begin
  perform from users where id = person for no key update;
  live := exists (select from logins where id = login and expires_at > app_now());
  open := (select count(*) from executions where owner_id = person and ended_at is null)
    + (select count(distinct grants.execution_id) from grants join executions on executions.id = grants.execution_id
      where grants.user_id = person and grants.ended_at is null and grants.expires_at > app_now()
        and executions.ended_at is not null);
end';
