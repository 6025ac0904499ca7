ALTER TABLE "comparisons" ADD COLUMN "proposal" jsonb;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "begun_by" jsonb DEFAULT '{}'::jsonb NOT NULL;