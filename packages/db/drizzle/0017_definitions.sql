CREATE TABLE "definitions" (
	"digest" text PRIMARY KEY NOT NULL,
	"document" jsonb NOT NULL
);
--> statement-breakpoint
ALTER TABLE "executions" ALTER COLUMN "definition" DROP NOT NULL;--> statement-breakpoint
-- The old column stays as it is: processes of the version before still read and write it during an upgrade.
INSERT INTO "definitions" ("digest", "document")
  SELECT DISTINCT ON ("definition_digest") "definition_digest", "definition" FROM "executions" WHERE "definition" IS NOT NULL;
