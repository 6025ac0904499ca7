CREATE TABLE "disabled_channels" (
	"provider" text PRIMARY KEY NOT NULL,
	"catalog_version" integer NOT NULL,
	"reason" text NOT NULL,
	"disabled_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "notices" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"key" text NOT NULL,
	"kind" text NOT NULL,
	"execution_id" uuid,
	"approval_id" uuid,
	"entitlement_id" uuid,
	"user_id" uuid,
	"ends_at" timestamp (3) with time zone,
	"urgent" boolean DEFAULT false NOT NULL,
	"due_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"told_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "notices_are_told_once" UNIQUE("key")
);
--> statement-breakpoint
CREATE TABLE "notification_preferences" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"channels" jsonb,
	"muted" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"quiet_from" text,
	"quiet_to" text,
	"time_zone" text,
	"updated_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "quiet_hours_are_whole" CHECK (("notification_preferences"."quiet_from" is null) = ("notification_preferences"."quiet_to" is null))
);
--> statement-breakpoint
CREATE TABLE "told_kinds" (
	"kind" text PRIMARY KEY NOT NULL
);
--> statement-breakpoint
ALTER TABLE "messages" ALTER COLUMN "approval_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "notice_id" uuid;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "failed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "notification_preferences" ADD CONSTRAINT "notification_preferences_user_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "notices_due_idx" ON "notices" USING btree ("due_at") WHERE "notices"."told_at" is null;--> statement-breakpoint
ALTER TABLE "messages" ADD CONSTRAINT "messages_notice_fk" FOREIGN KEY ("notice_id") REFERENCES "public"."notices"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "messages_failed_idx" ON "messages" USING btree ("failed_at") WHERE "messages"."failed_at" is not null;--> statement-breakpoint
ALTER TABLE "messages" ADD CONSTRAINT "message_is_about_one_thing" CHECK (("messages"."approval_id" is null) <> ("messages"."notice_id" is null));--> statement-breakpoint
COMMENT ON TABLE told_kinds IS 'The kinds of notices that the configuration in force tells; none while it names no channel.';--> statement-breakpoint
COMMENT ON TABLE notices IS 'That something is to be told: committed with what it tells of, then one message for each person and channel.';--> statement-breakpoint
COMMENT ON TABLE notification_preferences IS 'What a person wants to be told, where and when.';--> statement-breakpoint
COMMENT ON TABLE disabled_channels IS 'Channels whose receiver wants no more messages, until the configuration changes.';--> statement-breakpoint
-- Triggers, so that each notice is committed with what it tells of, by whichever statement that was written.
CREATE FUNCTION write_approval_notice() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  insert into notices (key, kind, execution_id, approval_id)
    select kind || ':' || new.id, kind, new.execution_id, new.id from told_kinds where kind = tg_argv[0]
    on conflict do nothing;
  return null;
end $$;--> statement-breakpoint
CREATE FUNCTION write_access_notice() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  -- One that waits for the request's other grants is looked at again.
  insert into notices (key, kind, execution_id, user_id)
    select kind || ':' || new.execution_id, kind, new.execution_id, new.user_id from told_kinds where kind = tg_argv[0]
    on conflict (key) do update set due_at = app_now() where notices.told_at is null;
  return null;
end $$;--> statement-breakpoint
CREATE TRIGGER approvals_opened_are_told AFTER INSERT ON "approvals" FOR EACH ROW
  WHEN (new.status = 'open') EXECUTE FUNCTION write_approval_notice('request.waiting');--> statement-breakpoint
CREATE TRIGGER approvals_decided_are_told AFTER UPDATE OF "status" ON "approvals" FOR EACH ROW
  WHEN (old.status = 'open' and new.status in ('approved', 'denied', 'expired')) EXECUTE FUNCTION write_approval_notice('request.decided');--> statement-breakpoint
CREATE TRIGGER grants_active_are_told AFTER UPDATE OF "activated_at" ON "grants" FOR EACH ROW
  WHEN (old.activated_at is null and new.activated_at is not null) EXECUTE FUNCTION write_access_notice('access.active');--> statement-breakpoint
CREATE TRIGGER grants_gone_are_told AFTER UPDATE OF "gone_at" ON "grants" FOR EACH ROW
  WHEN (old.gone_at is null and new.gone_at is not null and new.activated_at is not null) EXECUTE FUNCTION write_access_notice('access.ended');
