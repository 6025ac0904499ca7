CREATE INDEX "ledger_time_idx" ON "ledger" USING btree ("at","seq");--> statement-breakpoint
CREATE INDEX "users_email_idx" ON "users" USING btree ("email","id");