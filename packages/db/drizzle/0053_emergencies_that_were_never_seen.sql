-- From the claim of a grant call on, the access may be there (R4). When the call is not followed by the record of the access, but by a failure,
-- another call or a revocation, its use is told as well: the provider may hold it and not say so.
CREATE FUNCTION write_unseen_break_glass_notice() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  if not exists (select from told_kinds where kind = 'break_glass.used') then return null; end if;
  begin
    insert into notices (key, kind, execution_id, urgent)
      select distinct 'break_glass.used:' || e.id, 'break_glass.used', e.id, true
        from grants g join executions e on e.id = g.execution_id
        where g.entitlement_id = new.id and g.activated_at is null and g.gone_at is null
          and g.created_at <= old.last_grant_call_at and e.input ? 'break_glass'
      on conflict do nothing;
  exception when others then
    raise warning 'notices break_glass.used of entitlement % were not written: %', new.id, sqlerrm;
  end;
  return null;
end $$;--> statement-breakpoint
CREATE TRIGGER entitlements_of_emergencies_are_told AFTER UPDATE OF "state", "failures", "last_grant_call_at" ON "entitlements" FOR EACH ROW
  WHEN (old.state = 'granting' and old.last_grant_call_at is not null
    and (new.state = 'revoking' or new.failures > old.failures or new.last_grant_call_at > old.last_grant_call_at))
  EXECUTE FUNCTION write_unseen_break_glass_notice();
