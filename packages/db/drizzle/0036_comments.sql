CREATE TABLE "comments" (
	"id" uuid PRIMARY KEY NOT NULL,
	"execution_id" uuid NOT NULL,
	"author_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"text" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "comment_kind_is_known" CHECK ("comments"."kind" in ('comment', 'question', 'answer')),
	CONSTRAINT "comment_has_a_text" CHECK ("comments"."text" <> '')
);
--> statement-breakpoint
ALTER TABLE "comments" ADD CONSTRAINT "comments_execution_fk" FOREIGN KEY ("execution_id") REFERENCES "public"."executions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "comments" ADD CONSTRAINT "comments_author_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "comments_execution_idx" ON "comments" USING btree ("execution_id","created_at","id");--> statement-breakpoint
CREATE INDEX "comments_author_idx" ON "comments" USING btree ("author_id","created_at");--> statement-breakpoint
COMMENT ON TABLE comments IS 'What people wrote about a request, apart from their decisions: append-only, held by a trigger.';--> statement-breakpoint
CREATE FUNCTION keep_comments() RETURNS trigger LANGUAGE plpgsql AS 'begin raise exception ''comments are append-only''; end';--> statement-breakpoint
-- After the change, so that a constraint that it breaks as well is the one that is named.
CREATE TRIGGER comments_are_kept AFTER UPDATE OR DELETE ON "comments" FOR EACH ROW EXECUTE FUNCTION keep_comments();
