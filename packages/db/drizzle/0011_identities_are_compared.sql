DROP INDEX "user_identities_email_idx";--> statement-breakpoint
DROP INDEX "users_email_idx";--> statement-breakpoint
ALTER TABLE "user_identities" ADD COLUMN "email_folded" text;--> statement-breakpoint
ALTER TABLE "user_identities" ADD COLUMN "organizations" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "user_identities" ADD COLUMN "issuer" text;--> statement-breakpoint
CREATE INDEX "user_identities_email_folded_idx" ON "user_identities" USING btree ("email_folded");--> statement-breakpoint
CREATE INDEX "user_identities_issuer_idx" ON "user_identities" USING btree ("issuer","subject") WHERE "user_identities"."issuer" is not null;--> statement-breakpoint
-- What is not plain ASCII stays null, and is folded by the service at the person's next sign-in.
UPDATE "user_identities" SET "email_folded" = lower("email" COLLATE "C")
WHERE "email" ~ '^[A-Za-z0-9.!#$%&''*+/=?^_`{|}~-]+@[A-Za-z0-9-]+([.][A-Za-z0-9-]+)*$' AND length("email") <= 320;--> statement-breakpoint
UPDATE "user_identities" SET "organizations" = "groups";--> statement-breakpoint
UPDATE "approvals" SET "rule" = jsonb_set("rule", '{users}', (
  SELECT coalesce(jsonb_agg(lower("named" COLLATE "C")), '[]'::jsonb) FROM jsonb_array_elements_text("rule" -> 'users') AS "named"
)) WHERE "status" = 'open';
