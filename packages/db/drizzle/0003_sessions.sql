CREATE TABLE "agents" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"secret_hash" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"enrolled_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"environment" text,
	"description" text,
	"catalog_version" bigint,
	"registered_at" timestamp (3) with time zone,
	"seen_at" timestamp (3) with time zone,
	CONSTRAINT "agents_have_one_name" UNIQUE("name"),
	CONSTRAINT "agents_have_one_credential" UNIQUE("secret_hash")
);
--> statement-breakpoint
CREATE TABLE "user_identities" (
	"provider" text NOT NULL,
	"subject" text NOT NULL,
	"user_id" uuid NOT NULL,
	"email" text NOT NULL,
	"name" text NOT NULL,
	"groups" jsonb NOT NULL,
	"linked_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "user_identities_pk" PRIMARY KEY("provider","subject")
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"login_id" uuid NOT NULL,
	"provider" text NOT NULL,
	"user_id" uuid NOT NULL,
	"subject" text NOT NULL,
	"version" integer NOT NULL,
	"sealed" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"refresh_at" timestamp (3) with time zone,
	"lease_until" timestamp (3) with time zone,
	CONSTRAINT "sessions_pk" PRIMARY KEY("login_id","provider"),
	CONSTRAINT "session_version_counts_from_one" CHECK ("sessions"."version" >= 1)
);
--> statement-breakpoint
ALTER TABLE "oauth_flows" ALTER COLUMN "browser_hash" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "login_codes" ADD COLUMN "subject" text;--> statement-breakpoint
ALTER TABLE "login_codes" ADD COLUMN "sealed" text;--> statement-breakpoint
ALTER TABLE "logins" ADD COLUMN "subject" text;--> statement-breakpoint
ALTER TABLE "oauth_flows" ADD COLUMN "login_id" uuid;--> statement-breakpoint
ALTER TABLE "oauth_flows" ADD COLUMN "purpose" text DEFAULT 'login' NOT NULL;--> statement-breakpoint
ALTER TABLE "user_identities" ADD CONSTRAINT "user_identities_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_login_id_logins_id_fk" FOREIGN KEY ("login_id") REFERENCES "public"."logins"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "agents_seen_idx" ON "agents" USING btree ("seen_at");--> statement-breakpoint
CREATE INDEX "user_identities_user_idx" ON "user_identities" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "user_identities_email_idx" ON "user_identities" USING btree (lower("email"));--> statement-breakpoint
CREATE INDEX "sessions_user_idx" ON "sessions" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "sessions_expires_idx" ON "sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "sessions_refresh_idx" ON "sessions" USING btree ("refresh_at") WHERE "sessions"."refresh_at" is not null;--> statement-breakpoint
CREATE INDEX "ledger_nobody_idx" ON "ledger" USING btree ("type","seq" DESC NULLS LAST) WHERE "ledger"."user_id" is null;--> statement-breakpoint
ALTER TABLE "oauth_flows" ADD CONSTRAINT "oauth_flow_purpose_is_known" CHECK ("oauth_flows"."purpose" in ('login', 'session'));--> statement-breakpoint
ALTER TABLE "oauth_flows" ADD CONSTRAINT "oauth_flow_is_bound" CHECK ("oauth_flows"."browser_hash" is not null or ("oauth_flows"."purpose" = 'session' and "oauth_flows"."login_id" is not null));--> statement-breakpoint
INSERT INTO "user_identities" ("provider", "subject", "user_id", "email", "name", "groups", "linked_at", "updated_at")
	SELECT "provider", "subject", "id", "email", "name", "groups", "created_at", "updated_at" FROM "users";--> statement-breakpoint
UPDATE "logins" SET "subject" = "users"."subject" FROM "users" WHERE "users"."id" = "logins"."user_id" AND "users"."provider" = "logins"."provider";--> statement-breakpoint
UPDATE "login_codes" SET "subject" = "users"."subject" FROM "users" WHERE "users"."id" = "login_codes"."user_id" AND "users"."provider" = "login_codes"."provider";--> statement-breakpoint
COMMENT ON TABLE user_identities IS 'What a person is to each provider that they are known at; an identity has one person.';--> statement-breakpoint
COMMENT ON TABLE sessions IS 'The session of a login with one provider: its tokens, sealed, with a version and an expiry. Gone with the login.';--> statement-breakpoint
COMMENT ON TABLE agents IS 'Agents that an operator enrolled; only the hash of the credential is kept.';
