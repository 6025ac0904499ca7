ALTER TABLE "messages" DROP CONSTRAINT "message_is_about_one_thing";--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "execution_id" uuid;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "step_key" text;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "title" text;--> statement-breakpoint
ALTER TABLE "messages" ADD CONSTRAINT "messages_execution_fk" FOREIGN KEY ("execution_id") REFERENCES "public"."executions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "messages_of_step_idx" ON "messages" USING btree ("execution_id","step_key") WHERE "messages"."execution_id" is not null;--> statement-breakpoint
ALTER TABLE "messages" ADD CONSTRAINT "message_of_a_step_is_whole" CHECK ("messages"."execution_id" is null or num_nulls("messages"."step_key", "messages"."title", "messages"."text") = 0);--> statement-breakpoint
ALTER TABLE "messages" ADD CONSTRAINT "message_is_about_one_thing" CHECK (num_nonnulls("messages"."approval_id", "messages"."notice_id", "messages"."execution_id") = 1);--> statement-breakpoint
COMMENT ON TABLE messages IS 'What people are told outside of Belay, about an approval or a notice or by a step of a workflow: delivered at least once.';
