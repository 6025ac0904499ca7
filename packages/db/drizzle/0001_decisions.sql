-- Locks an execution, and then returns whether its approvals are those that a plan was judged by. Volatile: the second statement has a
-- snapshot of its own, so a decision, or an approval requested again, that the lock waited for is seen.
CREATE FUNCTION approvals_are(execution uuid, expected text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS '
begin
  perform from executions where id = execution for update;
  return expected = (select coalesce(string_agg(id || '' '' || status, '','' order by id), '''') from approvals where execution_id = execution);
end';--> statement-breakpoint
-- Locks a person against being stopped, with `alone` against others that act as this person too, and then returns whether they may act:
-- they have not left, and their login has not ended. Without a login, whether a provider has described this identity of theirs lately.
-- Volatile: what is read was read under the lock.
CREATE FUNCTION admit_person(person uuid, login uuid, by_provider text, by_subject text, lately interval, alone boolean)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS '
begin
  if alone then perform from users where id = person and deprovisioned_at is null for no key update;
  else perform from users where id = person and deprovisioned_at is null for share;
  end if;
  if not found then return false; end if;
  if login is not null then return exists (select from logins where id = login and expires_at > app_now()); end if;
  return exists (select from user_identities where user_id = person and provider = by_provider and subject = by_subject
    and told_at > app_now() - lately);
end';--> statement-breakpoint
-- Locks an execution, and then returns whether its step is open without an outcome, and whether its approvals and the decisions on them are
-- those that a decision was judged by. Volatile: what is compared was read under the lock.
CREATE FUNCTION admit_decision(execution uuid, step text, expected text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS '
begin
  perform from executions where id = execution and ended_at is null for update;
  if not found then return false; end if;
  return exists (select from steps where execution_id = execution and key = step and status = ''open'' and outcome_at is null)
    and expected = (
      select coalesce(string_agg(id || '' '' || status, '','' order by id), '''') from approvals where execution_id = execution)
      || '';'' || (
      select coalesce(string_agg(approval_id || '' '' || approver_id || '' '' || verdict, '','' order by approval_id, approver_id), '''')
      from decisions join approvals on approvals.id = approval_id where execution_id = execution);
end';
--> statement-breakpoint
-- Returns how many requests of a person are open: executions that have not ended, and access that is held after its execution has.
CREATE FUNCTION open_requests(person uuid) RETURNS integer LANGUAGE sql STABLE AS '
  select ((select count(*) from executions where owner_id = person and ended_at is null)
    + (select count(distinct grants.execution_id) from grants join executions on executions.id = grants.execution_id
      where grants.user_id = person and grants.ended_at is null and coalesce(grants.expires_at, grants.activate_by) > app_now()
        and executions.ended_at is not null))::integer';--> statement-breakpoint
CREATE OR REPLACE FUNCTION admit_request(person uuid, login uuid, OUT live boolean, OUT open integer) LANGUAGE plpgsql VOLATILE AS '
begin
  perform from users where id = person for no key update;
  live := exists (select from logins where id = login and expires_at > app_now());
  open := open_requests(person);
end';
