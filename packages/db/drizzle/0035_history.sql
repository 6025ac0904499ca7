ALTER TABLE "executions" ADD COLUMN "extends_id" uuid;--> statement-breakpoint
ALTER TABLE "executions" ADD CONSTRAINT "executions_extends_fk" FOREIGN KEY ("extends_id") REFERENCES "public"."executions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "decisions_of_approver_idx" ON "decisions" USING btree ("approver_id","decided_at","approval_id");--> statement-breakpoint
CREATE UNIQUE INDEX "executions_have_one_extension_at_a_time" ON "executions" USING btree ("extends_id") WHERE "executions"."extends_id" is not null and "executions"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "executions_of_owner_idx" ON "executions" USING btree ("owner_id","created_at","id");--> statement-breakpoint
CREATE INDEX "executions_by_time_idx" ON "executions" USING btree ("created_at","id");