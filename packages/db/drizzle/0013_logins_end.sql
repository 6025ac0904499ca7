CREATE TABLE "logout_tokens" (
	"provider" text NOT NULL,
	"token_hash" text NOT NULL,
	"sid" text,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "logout_tokens_pk" PRIMARY KEY("provider","token_hash")
);
--> statement-breakpoint
ALTER TABLE "logins" ADD COLUMN "sid" text;--> statement-breakpoint
ALTER TABLE "logins" ADD COLUMN "ends_at" timestamp (3) with time zone DEFAULT app_now() + interval '12 hours' NOT NULL;--> statement-breakpoint
ALTER TABLE "user_identities" ADD COLUMN "told_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "sid" text;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "ends_at" timestamp (3) with time zone DEFAULT app_now() + interval '12 hours' NOT NULL;--> statement-breakpoint
CREATE INDEX "logout_tokens_expires_idx" ON "logout_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "logins_identity_idx" ON "logins" USING btree ("provider","subject");--> statement-breakpoint
CREATE INDEX "sessions_identity_idx" ON "sessions" USING btree ("provider","subject");--> statement-breakpoint
update logins set ends_at = case kind
  when 'token' then expires_at
  when 'device' then created_at + interval '7 days'
  else created_at + interval '12 hours' end;
--> statement-breakpoint
update logins set expires_at = least(expires_at, ends_at);
--> statement-breakpoint
update sessions set ends_at = sessions.created_at + case when logins.kind = 'browser' then interval '12 hours' else interval '7 days' end
  from logins where logins.id = sessions.login_id;
--> statement-breakpoint
update sessions set expires_at = least(expires_at, ends_at);
--> statement-breakpoint
update user_identities set told_at = updated_at;
--> statement-breakpoint
comment on table logout_tokens is 'Logout tokens that a provider sent, by their hash, until they are too old to be sent again (OpenID Connect Back-Channel Logout, 2.6).';
