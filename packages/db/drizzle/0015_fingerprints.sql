ALTER TABLE "entitlements" ADD COLUMN "address" text;--> statement-breakpoint
ALTER TABLE "entitlements" ADD COLUMN "elsewhere" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "entitlements_elsewhere_idx" ON "entitlements" USING btree ("id") WHERE "entitlements"."elsewhere";