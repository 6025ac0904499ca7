CREATE TABLE "starred_roles" (
	"user_id" uuid NOT NULL,
	"role" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "starred_roles_pk" PRIMARY KEY("user_id","role")
);
--> statement-breakpoint
ALTER TABLE "starred_roles" ADD CONSTRAINT "starred_roles_user_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
COMMENT ON TABLE "starred_roles" IS 'The roles that a person wants to find first. The role may have left the configuration';
