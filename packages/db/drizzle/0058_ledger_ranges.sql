DROP INDEX "ledger_execution_idx";--> statement-breakpoint
DROP INDEX "ledger_user_idx";--> statement-breakpoint
CREATE INDEX "ledger_execution_idx" ON "ledger" USING btree ("execution_id",("seq"::bigint >> 17));--> statement-breakpoint
CREATE INDEX "ledger_user_idx" ON "ledger" USING btree ("user_id",("seq"::bigint >> 17));