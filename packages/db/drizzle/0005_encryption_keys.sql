CREATE TABLE "encryption_keys" (
	"kid" text PRIMARY KEY NOT NULL,
	"wrapped" "bytea" NOT NULL,
	"wrapped_by" text NOT NULL,
	"service" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"retired_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE UNIQUE INDEX "one_encryption_key_seals_idx" ON "encryption_keys" USING btree ("service") WHERE "encryption_keys"."retired_at" is null;--> statement-breakpoint
COMMENT ON TABLE encryption_keys IS 'Data keys, each wrapped by the key of a key management service; without that service they open nothing.';
