CREATE SEQUENCE "public"."message_turns" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "cause" uuid DEFAULT '00000000-0000-0000-0000-000000000000' NOT NULL;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "urgency" smallint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "turn" bigint;--> statement-breakpoint
ALTER TABLE "notices" ADD COLUMN "cause" uuid DEFAULT '00000000-0000-0000-0000-000000000000' NOT NULL;--> statement-breakpoint
ALTER TABLE "notices" ADD COLUMN "turn" bigint;--> statement-breakpoint
CREATE INDEX "messages_turns_idx" ON "messages" USING btree ("provider","cause","turn") WHERE "messages"."turn" is not null;--> statement-breakpoint
CREATE INDEX "messages_recipient_turns_idx" ON "messages" USING btree ("provider","cause","recipient","turn") WHERE "messages"."turn" is not null;--> statement-breakpoint
CREATE INDEX "notices_turns_idx" ON "notices" USING btree ("cause","turn") WHERE "notices"."turn" is not null;--> statement-breakpoint
-- The person who caused a notice, by whom notices and their messages take turns. As a trigger, so that no writer can forget it.
CREATE FUNCTION name_cause_of_notice() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  if new.cause = '00000000-0000-0000-0000-000000000000' then
    new.cause := coalesce((select owner_id from executions where id = new.execution_id), new.cause);
  end if;
  return new;
end $$;--> statement-breakpoint
CREATE TRIGGER notices_name_cause BEFORE INSERT ON "notices" FOR EACH ROW
  WHEN (new.execution_id is not null) EXECUTE FUNCTION name_cause_of_notice();--> statement-breakpoint
-- What waits already takes its turns too.
UPDATE "notices" SET "cause" = "executions"."owner_id" FROM "executions" WHERE "executions"."id" = "notices"."execution_id" AND "told_at" IS NULL;--> statement-breakpoint
UPDATE "messages" SET "cause" = e."owner_id" FROM "executions" e
  WHERE "messages"."closed_at" IS NULL AND e."id" = coalesce("messages"."execution_id",
    (SELECT a."execution_id" FROM "approvals" a WHERE a."id" = "messages"."approval_id"),
    (SELECT n."execution_id" FROM "notices" n WHERE n."id" = "messages"."notice_id"));--> statement-breakpoint
UPDATE "messages" SET "urgency" = CASE WHEN n."kind" IN ('break_glass.used', 'revocation.overdue') THEN 2 WHEN n."urgent" THEN 1 ELSE 0 END
  FROM "notices" n WHERE n."id" = "messages"."notice_id" AND "messages"."closed_at" IS NULL;
