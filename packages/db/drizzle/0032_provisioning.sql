CREATE TABLE "provisioned_groups" (
	"id" uuid PRIMARY KEY NOT NULL,
	"provider" text NOT NULL,
	"display_name" text NOT NULL,
	"external_id" text,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "provisioned_groups_have_one_name" UNIQUE("provider","display_name")
);
--> statement-breakpoint
CREATE TABLE "provisioned_members" (
	"group_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	CONSTRAINT "provisioned_members_pk" PRIMARY KEY("group_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "provisioned_users" (
	"id" uuid PRIMARY KEY NOT NULL,
	"provider" text NOT NULL,
	"user_name" text NOT NULL,
	"user_name_folded" text NOT NULL,
	"external_id" text,
	"active" boolean NOT NULL,
	"addresses" jsonb NOT NULL,
	"details" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "provisioning_tokens" (
	"id" uuid PRIMARY KEY NOT NULL,
	"provider" text NOT NULL,
	"secret_hash" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "provisioning_tokens_have_one_secret" UNIQUE("secret_hash")
);
--> statement-breakpoint
ALTER TABLE "grants" DROP CONSTRAINT "grant_end_reason_is_known";--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "deprovisioned_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "provisioned_members" ADD CONSTRAINT "provisioned_members_group_fk" FOREIGN KEY ("group_id") REFERENCES "public"."provisioned_groups"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "provisioned_members" ADD CONSTRAINT "provisioned_members_user_fk" FOREIGN KEY ("user_id") REFERENCES "public"."provisioned_users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "provisioned_groups_provider_idx" ON "provisioned_groups" USING btree ("provider","id");--> statement-breakpoint
CREATE INDEX "provisioned_members_user_idx" ON "provisioned_members" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "provisioned_users_have_one_name" ON "provisioned_users" USING btree ("provider","user_name_folded") WHERE "provisioned_users"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "provisioned_users_name_idx" ON "provisioned_users" USING btree ("user_name_folded");--> statement-breakpoint
CREATE INDEX "provisioned_users_external_idx" ON "provisioned_users" USING btree ("external_id");--> statement-breakpoint
CREATE INDEX "provisioned_users_addresses_idx" ON "provisioned_users" USING gin ("addresses");--> statement-breakpoint
CREATE INDEX "provisioned_users_provider_idx" ON "provisioned_users" USING btree ("provider","id");--> statement-breakpoint
CREATE INDEX "provisioning_tokens_provider_idx" ON "provisioning_tokens" USING btree ("provider");--> statement-breakpoint
ALTER TABLE "grants" ADD CONSTRAINT "grant_end_reason_is_known" CHECK ("grants"."ended_reason" in ('returned', 'revoked', 'cancelled', 'terminated', 'faulted', 'failed', 'lapsed', 'deprovisioned'));--> statement-breakpoint
COMMENT ON TABLE provisioning_tokens IS 'Bearer tokens with which directories provision people by SCIM, by hash.';--> statement-breakpoint
COMMENT ON TABLE provisioned_users IS 'People as directories provisioned them by SCIM, deleted ones included: an inactive or deleted one locks its person out.';--> statement-breakpoint
COMMENT ON TABLE provisioned_groups IS 'Groups as directories provisioned them by SCIM.';--> statement-breakpoint
COMMENT ON TABLE provisioned_members IS 'Which provisioned people are in which provisioned groups.';
