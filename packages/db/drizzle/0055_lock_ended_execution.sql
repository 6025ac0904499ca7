-- Locks an execution for the end of its access, and then reads whether it has ended and stands alone: extends no other one, and is not
-- extended. Volatile: the second statement has a snapshot of its own, so an extension that the lock waited for is seen.
CREATE FUNCTION lock_ended_execution(execution uuid, owner uuid) RETURNS boolean LANGUAGE plpgsql VOLATILE AS '
begin
  perform from executions where id = execution and owner_id = owner and ended_at is not null and extends_id is null for update;
  return found and not exists (select from executions where extends_id = execution);
end';
