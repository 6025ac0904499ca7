ALTER TABLE "signals" ADD COLUMN "sender" jsonb;--> statement-breakpoint
ALTER TABLE "signals" ADD COLUMN "delivery_id" text;--> statement-breakpoint
CREATE UNIQUE INDEX "signals_delivery_idx" ON "signals" USING btree ("source","delivery_id") WHERE "signals"."delivery_id" is not null;