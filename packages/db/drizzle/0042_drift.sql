CREATE TABLE "drift_audits" (
	"provider" text NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL,
	"audited_at" timestamp (3) with time zone,
	CONSTRAINT "drift_audits_pk" PRIMARY KEY("provider")
);
--> statement-breakpoint
CREATE TABLE "drifts" (
	"key" text NOT NULL,
	"kind" text NOT NULL,
	"provider" text NOT NULL,
	"found_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"seen_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "drifts_pk" PRIMARY KEY("key","kind"),
	CONSTRAINT "drift_kind_is_known" CHECK ("drifts"."kind" in ('leftover', 'unknown', 'missing'))
);
--> statement-breakpoint
CREATE INDEX "drifts_of_provider_idx" ON "drifts" USING btree ("provider","seen_at");--> statement-breakpoint
COMMENT ON TABLE "drift_audits" IS 'When each provider is compared with its rows next, so that one worker does it';
--> statement-breakpoint
COMMENT ON TABLE "drifts" IS 'What the latest comparison of a provider with its rows found to differ';
