-- What is told must never stop what it tells of: a notice that cannot be written is left out, and one that is being told is not waited for.
CREATE OR REPLACE FUNCTION write_approval_notice() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  -- First, because a block that catches errors costs a subtransaction.
  if not exists (select from told_kinds where kind = tg_argv[0]) then return null; end if;
  begin
    insert into notices (key, kind, execution_id, approval_id)
      values (tg_argv[0] || ':' || new.id, tg_argv[0], new.execution_id, new.id)
      on conflict do nothing;
  exception when others then
    raise warning 'the notice % of approval % was not written: %', tg_argv[0], new.id, sqlerrm;
  end;
  return null;
end $$;--> statement-breakpoint
CREATE OR REPLACE FUNCTION write_access_notice() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  if not exists (select from told_kinds where kind = tg_argv[0]) then return null; end if;
  begin
    insert into notices (key, kind, execution_id, user_id)
      values (tg_argv[0] || ':' || new.execution_id, tg_argv[0], new.execution_id, new.user_id)
      on conflict do nothing;
    -- One that waits for the request's other grants is looked at again; who holds it now looks at it now, or again in a minute.
    if not found then
      update notices set due_at = app_now() where id in (
        select id from notices where key = tg_argv[0] || ':' || new.execution_id and told_at is null for update skip locked);
    end if;
  exception when others then
    raise warning 'the notice % of execution % was not written: %', tg_argv[0], new.execution_id, sqlerrm;
  end;
  return null;
end $$;
