CREATE TABLE "messages" (
	"id" uuid PRIMARY KEY NOT NULL,
	"key" text NOT NULL,
	"approval_id" uuid NOT NULL,
	"provider" text NOT NULL,
	"recipient" text NOT NULL,
	"text" text,
	"receipt" jsonb,
	"delivered_at" timestamp (3) with time zone,
	"closed_at" timestamp (3) with time zone,
	"due_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"last_error" text,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "messages_are_queued_once" UNIQUE("key")
);
--> statement-breakpoint
ALTER TABLE "messages" ADD CONSTRAINT "messages_approval_fk" FOREIGN KEY ("approval_id") REFERENCES "public"."approvals"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "messages_open_idx" ON "messages" USING btree ("due_at") WHERE "messages"."closed_at" is null;--> statement-breakpoint
COMMENT ON TABLE messages IS 'What approvers are told outside of Belay: queued with the approval, delivered at least once, revised when it has closed.';