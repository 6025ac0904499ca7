CREATE TABLE "program_logins" (
	"request_hash" text PRIMARY KEY NOT NULL,
	"login_id" uuid NOT NULL,
	"browser_hash" text NOT NULL,
	"provider" text NOT NULL,
	"subject" text NOT NULL,
	"label" text,
	"callback" text NOT NULL,
	"code_challenge" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "login_codes" ADD COLUMN "login_id" uuid;--> statement-breakpoint
ALTER TABLE "program_logins" ADD CONSTRAINT "program_logins_login_id_logins_id_fk" FOREIGN KEY ("login_id") REFERENCES "public"."logins"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "program_logins_expires_idx" ON "program_logins" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "program_logins_login_idx" ON "program_logins" USING btree ("login_id");--> statement-breakpoint
ALTER TABLE "login_codes" ADD CONSTRAINT "login_codes_login_id_logins_id_fk" FOREIGN KEY ("login_id") REFERENCES "public"."logins"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "login_codes_login_idx" ON "login_codes" USING btree ("login_id");--> statement-breakpoint
comment on table program_logins is 'A program that waits for its person''s click before it gets a code (RFC 8252, section 8.6). Bound to the login and the browser it was begun in; gone with the first decision.';
