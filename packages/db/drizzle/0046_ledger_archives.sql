CREATE TABLE "archived_blocks" (
	"archive" text NOT NULL,
	"nth" integer NOT NULL,
	"rows" integer NOT NULL,
	"digest" text NOT NULL,
	"first_at" timestamp (3) with time zone NOT NULL,
	"first_seq" bigint NOT NULL,
	"last_at" timestamp (3) with time zone NOT NULL,
	"last_seq" bigint NOT NULL,
	"changed_at" timestamp (3) with time zone,
	CONSTRAINT "archived_blocks_pk" PRIMARY KEY("archive","nth")
);
--> statement-breakpoint
CREATE TABLE "ledger_archives" (
	"digest" text PRIMARY KEY NOT NULL,
	"month" text NOT NULL,
	"rows" bigint NOT NULL,
	"archived_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "archived_blocks" ADD CONSTRAINT "archived_blocks_archive_fk" FOREIGN KEY ("archive") REFERENCES "public"."ledger_archives"("digest") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "archived_blocks_position_idx" ON "archived_blocks" USING btree ("first_at","first_seq");--> statement-breakpoint
CREATE INDEX "ledger_archives_month_idx" ON "ledger_archives" USING btree ("month");--> statement-breakpoint
COMMENT ON TABLE "ledger_archives" IS 'Files of ledger entries of a month that were written and read back';--> statement-breakpoint
COMMENT ON TABLE "archived_blocks" IS 'Archived entries of the ledger that are still here, and the digest under which they may be deleted';
