CREATE TABLE "targets" (
	"target" text PRIMARY KEY NOT NULL,
	"position" text,
	"mark" text,
	"marked_at" timestamp (3) with time zone,
	"next_mark" text,
	"next_at" timestamp (3) with time zone,
	"doubt" text,
	"doubted_at" timestamp (3) with time zone,
	CONSTRAINT "target_mark_has_a_time" CHECK (("targets"."mark" is null) = ("targets"."marked_at" is null)),
	CONSTRAINT "target_next_mark_has_a_time" CHECK (("targets"."next_mark" is null) = ("targets"."next_at" is null)),
	CONSTRAINT "target_doubt_has_a_time" CHECK (("targets"."doubt" is null) = ("targets"."doubted_at" is null))
);
--> statement-breakpoint
ALTER TABLE "entitlements" ADD COLUMN "position" text;--> statement-breakpoint
ALTER TABLE "entitlements" ADD COLUMN "recorded_at" timestamp (3) with time zone;--> statement-breakpoint
COMMENT ON TABLE "targets" IS 'What is remembered of the history of each target: its position, its mark, and why its server is not believed'
