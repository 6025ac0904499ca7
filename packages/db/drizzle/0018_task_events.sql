CREATE TABLE "task_events" (
	"execution_id" uuid NOT NULL,
	"seq" bigint NOT NULL,
	"nth" integer NOT NULL,
	"at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"actor" jsonb NOT NULL,
	"user_id" uuid,
	"events" jsonb NOT NULL,
	CONSTRAINT "task_events_pk" PRIMARY KEY("execution_id","seq")
);
--> statement-breakpoint
ALTER TABLE "executions" ADD COLUMN "task_events" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "task_events_user_idx" ON "task_events" USING btree ("user_id","seq" DESC NULLS LAST);--> statement-breakpoint
-- A row of task events takes a number for each of its events.
ALTER SEQUENCE "ledger_seq_seq" INCREMENT BY 100;
