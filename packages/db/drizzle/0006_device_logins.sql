CREATE TABLE "device_logins" (
	"device_hash" text PRIMARY KEY NOT NULL,
	"user_code_hash" text NOT NULL,
	"label" text NOT NULL,
	"status" text DEFAULT 'open' NOT NULL,
	"user_id" uuid,
	"provider" text,
	"subject" text,
	"sealed" text,
	"polled_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "device_logins_have_one_user_code" UNIQUE("user_code_hash"),
	CONSTRAINT "device_login_status_is_known" CHECK ("device_logins"."status" in ('open', 'approved', 'denied', 'used')),
	CONSTRAINT "device_login_has_its_person" CHECK ("device_logins"."status" <> 'approved' or "device_logins"."user_id" is not null)
);
--> statement-breakpoint
ALTER TABLE "device_logins" ADD CONSTRAINT "device_logins_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "device_logins_expires_idx" ON "device_logins" USING btree ("expires_at");
--> statement-breakpoint
COMMENT ON TABLE device_logins IS 'Logins that machines without a browser asked for, until somebody confirms them in theirs; hashes and sealed tokens only.';