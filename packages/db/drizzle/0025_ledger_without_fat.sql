ALTER TABLE "ledger" DROP CONSTRAINT "ledger_pkey";--> statement-breakpoint
CREATE INDEX "ledger_seq_idx" ON "ledger" USING brin ("seq") WITH (autosummarize=true);
