-- Access that an older version granted by names alone has no identifiers by which it could be revoked. It is not taken over: that version
-- reads the identifiers, or ends the access.
DO '
declare held text;
begin
  select string_agg(what, ''; '') into held from (
    select provider || '': '' || identity || '' has '' || access::text as what from entitlements
    where state <> ''absent'' and (target is null or target = '''') order by id limit 20) as found;
  if held is not null then
    raise exception using errcode = ''BL001'', message = ''The database holds access without the identifiers of its provider, which an older version of Belay granted ('' || held || ''). Start revision e1d42f42 of Belay with it until that access has identifiers or has ended, then this version'';
  end if;
end';--> statement-breakpoint
ALTER TABLE "grants" DROP CONSTRAINT "grant_has_an_end";--> statement-breakpoint
ALTER TABLE "entitlements" DROP CONSTRAINT "entitlement_is_pinned_whole";--> statement-breakpoint
ALTER TABLE "entitlements" ADD COLUMN "names" jsonb;--> statement-breakpoint
ALTER TABLE "grants" ADD COLUMN "identity" text;--> statement-breakpoint
ALTER TABLE "grants" ADD COLUMN "access" jsonb;--> statement-breakpoint
-- The names at the latest intent are the only ones that an older version kept. Access that has ended, and never had identifiers, gets a
-- target that no provider has.
UPDATE "entitlements" SET "names" = jsonb_build_array(jsonb_build_object('identity', "identity", 'access', "access")),
  "target" = coalesce("target", ''), "subject" = coalesce("subject", 'null'::jsonb);--> statement-breakpoint
UPDATE "grants" SET "identity" = e."identity", "access" = e."access",
  "known_as" = coalesce("known_as", case when e."identity_email" is null then '[]'::jsonb else jsonb_build_array(e."identity_email") end),
  "activate_by" = coalesce("activate_by", "expires_at"), "expires_at" = case when "activated_at" is not null then "expires_at" end
  FROM "entitlements" e WHERE e."id" = "entitlement_id";--> statement-breakpoint
UPDATE "approvals" SET "known_as" = coalesce(
  (select jsonb_agg(one -> 'identityEmail') from jsonb_array_elements("subject" -> 'grants') one where one ->> 'identityEmail' <> ''), '[]')
  WHERE "known_as" is null;--> statement-breakpoint
DELETE FROM "leftovers" WHERE "target" is null;--> statement-breakpoint
ALTER TABLE "entitlements" ALTER COLUMN "names" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "entitlements" ALTER COLUMN "target" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "entitlements" ALTER COLUMN "subject" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "grants" ALTER COLUMN "identity" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "grants" ALTER COLUMN "access" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "grants" ALTER COLUMN "known_as" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "grants" ALTER COLUMN "activate_by" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "approvals" ALTER COLUMN "known_as" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "leftovers" ALTER COLUMN "target" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "leftovers" ALTER COLUMN "subject" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "entitlements" DROP COLUMN "identity_email";--> statement-breakpoint
ALTER TABLE "grants" ADD CONSTRAINT "grant_has_an_end" CHECK ("grants"."expires_at" is not null or "grants"."activated_at" is null);
