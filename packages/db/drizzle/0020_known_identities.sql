CREATE TABLE "known_identities" (
	"key" text PRIMARY KEY NOT NULL,
	"identity" text,
	"seen_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL
);
--> statement-breakpoint
COMMENT ON TABLE "known_identities" IS 'Who a person was at a provider when it was last asked, under a digest: what a decision rests on while the provider does not answer.';