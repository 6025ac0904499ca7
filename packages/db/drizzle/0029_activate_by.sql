DROP INDEX "grants_live_idx";--> statement-breakpoint
DROP INDEX "grants_over_idx";--> statement-breakpoint
DROP INDEX "grants_held_idx";--> statement-breakpoint
ALTER TABLE "grants" ALTER COLUMN "expires_at" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "grants" ADD COLUMN "activate_by" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "grants_live_idx" ON "grants" USING btree ("entitlement_id",coalesce("expires_at", "activate_by")) WHERE "grants"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "grants_over_idx" ON "grants" USING btree (least("ended_at", coalesce("expires_at", "activate_by")),"entitlement_id") WHERE "grants"."gone_at" is null;--> statement-breakpoint
CREATE INDEX "grants_held_idx" ON "grants" USING btree ("user_id",coalesce("expires_at", "activate_by")) WHERE "grants"."ended_at" is null;--> statement-breakpoint
ALTER TABLE "grants" ADD CONSTRAINT "grant_has_an_end" CHECK ("grants"."expires_at" is not null or ("grants"."activated_at" is null and "grants"."activate_by" is not null));--> statement-breakpoint
-- Without statistics of its own the expression counts as true for a third of the rows: those of partial indexes are not used.
CREATE STATISTICS "grants_over_at" ON (coalesce("expires_at", "activate_by")) FROM "grants";--> statement-breakpoint
-- What ended before it was active. Grants that wait now keep their row as it is, which processes of the version before read, too.
UPDATE grants SET activate_by = expires_at, expires_at = null WHERE activated_at IS NULL AND ended_at IS NOT NULL;--> statement-breakpoint
CREATE OR REPLACE FUNCTION admit_request(person uuid, login uuid, OUT live boolean, OUT open integer) LANGUAGE plpgsql VOLATILE AS '
begin
  perform from users where id = person for no key update;
  live := exists (select from logins where id = login and expires_at > app_now());
  open := (select count(*) from executions where owner_id = person and ended_at is null)
    + (select count(distinct grants.execution_id) from grants join executions on executions.id = grants.execution_id
      where grants.user_id = person and grants.ended_at is null and coalesce(grants.expires_at, grants.activate_by) > app_now()
        and executions.ended_at is not null);
end';--> statement-breakpoint
-- Not of an empty table: plans that are made for one are kept while it grows.
DO $$ begin
  if exists (select from grants) then analyze grants; end if;
end $$;
