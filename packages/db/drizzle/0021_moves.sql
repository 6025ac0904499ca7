ALTER TABLE "steps" DROP CONSTRAINT "step_kind_is_known";--> statement-breakpoint
DROP INDEX "steps_due_idx";--> statement-breakpoint
ALTER TABLE "executions" ADD COLUMN "version" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "steps" ADD COLUMN "outcome" jsonb;--> statement-breakpoint
ALTER TABLE "steps" ADD COLUMN "outcome_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "steps_due_idx" ON "steps" USING btree ("due_at") WHERE "steps"."status" = 'open' and "steps"."kind" <> 'event';--> statement-breakpoint
ALTER TABLE "steps" ADD CONSTRAINT "step_kind_is_known" CHECK ("steps"."kind" in ('call', 'timer', 'event', 'turn'));--> statement-breakpoint
-- A process of the version before locks an execution's row and writes its state without raising the version.
CREATE FUNCTION count_move() RETURNS trigger LANGUAGE plpgsql AS 'begin new.version := old.version + 1; return new; end';--> statement-breakpoint
CREATE TRIGGER executions_count_moves BEFORE UPDATE OF "state" ON "executions" FOR EACH ROW
  WHEN (new.version = old.version) EXECUTE FUNCTION count_move();
