CREATE TABLE "comparisons" (
	"provider" text NOT NULL,
	"epoch" integer NOT NULL,
	"lease_until" timestamp (3) with time zone NOT NULL,
	"compared_at" timestamp (3) with time zone,
	"skipped" text,
	"last_error" text,
	CONSTRAINT "comparisons_pk" PRIMARY KEY("provider"),
	CONSTRAINT "comparison_is_skipped_at_a_time" CHECK ("comparisons"."skipped" is null or "comparisons"."compared_at" is not null)
);
--> statement-breakpoint
CREATE TABLE "leftovers" (
	"id" uuid PRIMARY KEY NOT NULL,
	"key" text NOT NULL,
	"epoch" integer NOT NULL,
	"provider" text NOT NULL,
	"identity" text NOT NULL,
	"access" jsonb NOT NULL,
	"target" text,
	"subject" jsonb,
	"mark" text,
	"answer" text,
	"found_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "leftovers_are_one_per_key" UNIQUE("key"),
	CONSTRAINT "leftover_answer_is_known" CHECK ("leftovers"."answer" in ('keep', 'revoke'))
);
--> statement-breakpoint
CREATE TABLE "restores" (
	"one" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"epoch" integer NOT NULL,
	"closed_at" timestamp (3) with time zone,
	"reason" text NOT NULL,
	CONSTRAINT "restores_is_one_row" CHECK ("restores"."one")
);
--> statement-breakpoint
CREATE INDEX "leftovers_open_idx" ON "leftovers" USING btree ("id") WHERE "leftovers"."answer" is null;
--> statement-breakpoint
COMMENT ON TABLE "restores" IS 'Whether grants wait until every provider was compared with the rows of a restored database; one row at most';
--> statement-breakpoint
COMMENT ON TABLE "comparisons" IS 'The latest comparison of each provider with its rows after a restore';
--> statement-breakpoint
COMMENT ON TABLE "leftovers" IS 'Access that a comparison found and that an operator must decide about';
