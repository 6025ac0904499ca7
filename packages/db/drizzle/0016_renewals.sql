ALTER TABLE "grants" DROP CONSTRAINT "grants_are_one_per_step_and_entitlement";--> statement-breakpoint
ALTER TABLE "grants" DROP CONSTRAINT "grant_end_reason_is_known";--> statement-breakpoint
ALTER TABLE "approvals" ADD COLUMN "renews" uuid;--> statement-breakpoint
ALTER TABLE "approvals" ADD COLUMN "because" text;--> statement-breakpoint
CREATE UNIQUE INDEX "grants_are_one_per_step_and_entitlement" ON "grants" USING btree ("execution_id","step_key","entitlement_id") WHERE coalesce("grants"."ended_reason", '') <> 'lapsed';--> statement-breakpoint
ALTER TABLE "approvals" ADD CONSTRAINT "approvals_are_renewed_once" UNIQUE("renews");--> statement-breakpoint
ALTER TABLE "grants" ADD CONSTRAINT "grant_end_reason_is_known" CHECK ("grants"."ended_reason" in ('returned', 'revoked', 'cancelled', 'terminated', 'faulted', 'failed', 'lapsed'));--> statement-breakpoint
ALTER TABLE "approvals" ADD CONSTRAINT "approval_is_renewed_for_a_reason" CHECK (("approvals"."renews" is null) = ("approvals"."because" is null));