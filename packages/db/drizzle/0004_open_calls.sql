ALTER TABLE "entitlements" ADD COLUMN "open_calls" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "entitlements" ADD COLUMN "left_to_others" text;--> statement-breakpoint
ALTER TABLE "entitlements" ADD COLUMN "accepted" text;--> statement-breakpoint
-- What became of the grant calls of an older version is not known.
UPDATE "entitlements" SET "open_calls" = 1 WHERE "last_grant_call_at" is not null;
