ALTER TABLE "oauth_flows" ADD COLUMN "answer_hash" text;--> statement-breakpoint
ALTER TABLE "oauth_flows" ADD COLUMN "answer" text;--> statement-breakpoint
ALTER TABLE "oauth_flows" ADD CONSTRAINT "oauth_flow_answer_has_its_code" CHECK (("oauth_flows"."answer_hash" is null) = ("oauth_flows"."answer" is null));