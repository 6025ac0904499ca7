ALTER TABLE "comments" DROP CONSTRAINT "comments_execution_fk";
--> statement-breakpoint
ALTER TABLE "comments" ADD CONSTRAINT "comments_execution_fk" FOREIGN KEY ("execution_id") REFERENCES "public"."executions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "grants_execution_idx" ON "grants" USING btree ("execution_id");--> statement-breakpoint
-- The foreign key deletes comments with their request, which is gone by then.
CREATE OR REPLACE FUNCTION keep_comments() RETURNS trigger LANGUAGE plpgsql AS 'begin if tg_op = ''DELETE'' and not exists (select from public.executions where id = old.execution_id) then return null; end if; raise exception ''comments are append-only''; end';
