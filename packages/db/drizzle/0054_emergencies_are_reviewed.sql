CREATE TABLE "reviews" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"execution_id" uuid NOT NULL,
	"rule" jsonb NOT NULL,
	"opened_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL,
	"closed_at" timestamp (3) with time zone,
	"closed_by" uuid,
	"verdict" text,
	"note" text,
	CONSTRAINT "review_verdict_is_known" CHECK ("reviews"."verdict" in ('justified', 'not_justified')),
	CONSTRAINT "review_is_closed_whole" CHECK (num_nonnulls("reviews"."closed_at", "reviews"."closed_by", "reviews"."verdict", "reviews"."note") in (0, 4)),
	CONSTRAINT "review_has_a_note" CHECK ("reviews"."note" <> '')
);
--> statement-breakpoint
ALTER TABLE "reviews" ADD CONSTRAINT "reviews_execution_fk" FOREIGN KEY ("execution_id") REFERENCES "public"."executions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reviews" ADD CONSTRAINT "reviews_closed_by_fk" FOREIGN KEY ("closed_by") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "reviews_are_open_once" ON "reviews" USING btree ("execution_id") WHERE "reviews"."closed_at" is null;--> statement-breakpoint
CREATE INDEX "reviews_execution_idx" ON "reviews" USING btree ("execution_id");--> statement-breakpoint
CREATE INDEX "reviews_due_idx" ON "reviews" USING btree ("due_at") WHERE "reviews"."closed_at" is null;--> statement-breakpoint
CREATE INDEX "reviews_open_idx" ON "reviews" USING btree ("opened_at","id") WHERE "reviews"."closed_at" is null;--> statement-breakpoint
CREATE INDEX "reviews_opened_idx" ON "reviews" USING btree ("opened_at","id");--> statement-breakpoint
COMMENT ON TABLE reviews IS 'Uses of roles for emergencies that are to be reviewed: opened by a trigger on grants, closed once.';--> statement-breakpoint
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
-- Access and its review are committed together or not at all, so no error is caught here; one of the notice is (0038).
CREATE FUNCTION open_review() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  perform open_review_of(new.execution_id, new.user_id, new.expires_at);
  return null;
end $$;--> statement-breakpoint
CREATE TRIGGER grants_of_emergencies_are_reviewed AFTER UPDATE OF "activated_at" ON "grants" FOR EACH ROW
  WHEN (old.activated_at is null and new.activated_at is not null) EXECUTE FUNCTION open_review();--> statement-breakpoint
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
  EXECUTE FUNCTION open_unseen_review();--> statement-breakpoint
CREATE FUNCTION keep_reviews() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  if tg_op = 'UPDATE' and old.closed_at is null then return null; end if;
  -- The foreign key deletes reviews with their request, which is gone by then.
  if tg_op = 'DELETE' and old.closed_at is not null and not exists (select from public.executions where id = old.execution_id) then
    return null;
  end if;
  raise exception 'a review is closed once, and kept';
end $$;--> statement-breakpoint
-- After the change, so that a constraint that it breaks as well is the one that is named.
CREATE TRIGGER reviews_are_kept AFTER UPDATE OR DELETE ON "reviews" FOR EACH ROW EXECUTE FUNCTION keep_reviews();
