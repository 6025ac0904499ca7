CREATE INDEX "messages_closed_idx" ON "messages" USING btree ("closed_at") WHERE "messages"."closed_at" is not null;--> statement-breakpoint
CREATE INDEX "messages_approval_idx" ON "messages" USING btree ("approval_id") WHERE "messages"."approval_id" is not null;--> statement-breakpoint
CREATE INDEX "messages_notice_idx" ON "messages" USING btree ("notice_id") WHERE "messages"."notice_id" is not null;--> statement-breakpoint
CREATE INDEX "notices_told_idx" ON "notices" USING btree ("told_at") WHERE "notices"."told_at" is not null;--> statement-breakpoint
CREATE INDEX "runs_settled_idx" ON "runs" USING btree ("settled_at") WHERE "runs"."settled_at" is not null;