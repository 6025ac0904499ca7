CREATE INDEX "reviews_open_idx" ON "reviews" USING btree ("opened_at","id") WHERE "reviews"."closed_at" is null;--> statement-breakpoint
-- What opens a review, for access that became active and for access that a provider may have held and that was never seen there.
CREATE FUNCTION open_review_of(execution uuid, person uuid, ends timestamptz) RETURNS void LANGUAGE plpgsql AS $$
declare
  asked jsonb;
  named text;
  root uuid;
  made uuid := gen_random_uuid();
  opened reviews;
begin
  select input #> '{break_glass,review}', input ->> 'role' into asked, named from executions where id = execution;
  if asked is null then return; end if;
  with recursive above (id, extends_id) as (
    select e.id, e.extends_id from executions e where e.id = execution
    union select e.id, e.extends_id from executions e join above on e.id = above.extends_id)
  select id into root from above where extends_id is null;
  -- A review that is being closed is waited for: closed, it is in the way no more, and this use has one of its own.
  insert into reviews as open (id, execution_id, rule, due_at)
    values (made, root, asked - 'within', coalesce(ends, app_now()) + (asked ->> 'within')::float8 * interval '1 millisecond')
    on conflict (execution_id) where closed_at is null do update set due_at = greatest(open.due_at, excluded.due_at)
    returning * into opened;
  if opened.id <> made then return; end if;
  insert into ledger (type, level, message, actor, user_id, execution_id, data)
    values ('review.opened', 'info',
      'The use of ' || named || ', a role for emergencies, has to be reviewed before ' || to_char(opened.due_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      '{"system": "reviews"}', person, root, jsonb_build_object('review', opened.id, 'reviewers', opened.rule));
  if not exists (select from told_kinds where kind = 'review.opened') then return; end if;
  begin
    insert into notices (key, kind, execution_id)
      values ('review.opened:' || opened.id, 'review.opened', root) on conflict do nothing;
  exception when others then
    raise warning 'the notice review.opened of review % was not written: %', opened.id, sqlerrm;
  end;
end $$;--> statement-breakpoint
CREATE OR REPLACE FUNCTION open_review() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  perform open_review_of(new.execution_id, new.user_id, new.expires_at);
  return null;
end $$;--> statement-breakpoint
-- On the record of a failure or a revocation, which a review that cannot be written must not prevent.
CREATE FUNCTION open_unseen_review() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  perform open_review_of(unseen.execution_id, unseen.user_id, null) from (
    select distinct g.execution_id, g.user_id from grants g join executions e on e.id = g.execution_id
      where g.entitlement_id = new.id and g.activated_at is null and g.gone_at is null
        and g.created_at <= old.last_grant_call_at and e.input #> '{break_glass,review}' is not null
        and not exists (select from reviews r where r.execution_id = g.execution_id)) unseen;
  return null;
exception when others then
  raise warning 'reviews of entitlement % were not opened: %', new.id, sqlerrm;
  return null;
end $$;--> statement-breakpoint
CREATE TRIGGER entitlements_of_emergencies_are_reviewed AFTER UPDATE OF "state", "failures", "last_grant_call_at" ON "entitlements" FOR EACH ROW
  WHEN (old.state = 'granting' and old.last_grant_call_at is not null
    and (new.state = 'revoking' or new.failures > old.failures or new.last_grant_call_at > old.last_grant_call_at))
  EXECUTE FUNCTION open_unseen_review();
