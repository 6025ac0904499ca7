CREATE TABLE "reachable" (
	"one" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"milliseconds" bigint DEFAULT 0 NOT NULL,
	"seen_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "reachable_is_one_row" CHECK ("reachable"."one")
);
--> statement-breakpoint
CREATE TABLE "runs" (
	"id" uuid PRIMARY KEY NOT NULL,
	"execution_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"requested" boolean NOT NULL,
	"lease" bigint NOT NULL,
	"due_at" bigint NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"outcome" text,
	"settled_at" timestamp (3) with time zone,
	CONSTRAINT "run_outcome_is_known" CHECK ("runs"."outcome" in ('given_back', 'in_use', 'left')),
	CONSTRAINT "run_ends_with_an_outcome" CHECK (("runs"."ended_at" is null) = ("runs"."outcome" is null)),
	CONSTRAINT "run_settles_after_its_end" CHECK ("runs"."settled_at" is null or "runs"."ended_at" is not null),
	CONSTRAINT "run_has_a_lease" CHECK ("runs"."lease" > 0)
);
--> statement-breakpoint
ALTER TABLE "runs" ADD CONSTRAINT "runs_execution_id_executions_id_fk" FOREIGN KEY ("execution_id") REFERENCES "public"."executions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "runs" ADD CONSTRAINT "runs_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "runs_due_idx" ON "runs" USING btree ("due_at") WHERE "runs"."settled_at" is null;--> statement-breakpoint
CREATE INDEX "runs_execution_idx" ON "runs" USING btree ("execution_id");--> statement-breakpoint
INSERT INTO "reachable" DEFAULT VALUES;--> statement-breakpoint
COMMENT ON TABLE runs IS 'Commands that run with the access of an execution; one whose heartbeat stays away for its lease ends.';--> statement-breakpoint
COMMENT ON TABLE reachable IS 'One row: for how long a server could be reached, counted while runs exist.';
