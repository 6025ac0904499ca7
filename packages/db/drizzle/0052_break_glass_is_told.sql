-- What is told must never stop what it tells of: a notice that cannot be written is left out, and one that is being told is not waited for.
CREATE FUNCTION write_break_glass_notice() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  -- First, because a block that catches errors costs a subtransaction.
  if not exists (select from told_kinds where kind = 'break_glass.used') then return null; end if;
  if not exists (select from executions where id = new.execution_id and input ? 'break_glass') then return null; end if;
  begin
    insert into notices (key, kind, execution_id, urgent)
      values ('break_glass.used:' || new.execution_id, 'break_glass.used', new.execution_id, true)
      on conflict do nothing;
  exception when others then
    raise warning 'the notice break_glass.used of execution % was not written: %', new.execution_id, sqlerrm;
  end;
  return null;
end $$;--> statement-breakpoint
CREATE TRIGGER grants_of_emergencies_are_told AFTER UPDATE OF "activated_at" ON "grants" FOR EACH ROW
  WHEN (old.activated_at is null and new.activated_at is not null) EXECUTE FUNCTION write_break_glass_notice();
