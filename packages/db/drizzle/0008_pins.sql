ALTER TABLE "entitlements" ADD COLUMN "target" text;--> statement-breakpoint
ALTER TABLE "entitlements" ADD COLUMN "subject" jsonb;--> statement-breakpoint
ALTER TABLE "entitlements" ADD CONSTRAINT "entitlement_is_pinned_whole" CHECK (("entitlements"."target" is null) = ("entitlements"."subject" is null));--> statement-breakpoint
-- What is held now is pinned within seconds of the upgrade, while its names still mean what they meant.
UPDATE "entitlements" SET "due_at" = app_now() WHERE "state" <> 'absent';
