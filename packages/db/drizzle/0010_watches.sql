CREATE TABLE "watches" (
	"execution_id" uuid PRIMARY KEY NOT NULL,
	"until" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "watches_until_idx" ON "watches" USING btree ("until");--> statement-breakpoint
COMMENT ON TABLE "watches" IS 'Executions that a process follows now, until a time: only what the ledger says about these is notified.';
