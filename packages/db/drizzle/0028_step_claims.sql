ALTER TABLE "steps" ADD COLUMN "claim" text;--> statement-breakpoint
ALTER TABLE "steps" ADD COLUMN "failures" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "steps_failing_idx" ON "steps" USING btree ("execution_id") WHERE "steps"."status" = 'open' and "steps"."failures" > 0;