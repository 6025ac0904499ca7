CREATE TABLE "known_identities" (
	"key" text PRIMARY KEY NOT NULL,
	"identity" text,
	"seen_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL
);
