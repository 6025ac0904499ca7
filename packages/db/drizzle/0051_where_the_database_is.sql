CREATE TABLE "clusters" (
	"one" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"system" text NOT NULL,
	"timeline" integer NOT NULL,
	"database" text NOT NULL,
	CONSTRAINT "clusters_is_one_row" CHECK ("clusters"."one")
);
--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "noticed" boolean DEFAULT false NOT NULL;--> statement-breakpoint
COMMENT ON TABLE "clusters" IS 'One row: where this database was when Belay saw it last; a restored or promoted one is elsewhere';
