DROP INDEX "grants_execution_idx";--> statement-breakpoint
DROP INDEX "grants_are_one_per_step_and_entitlement";--> statement-breakpoint
CREATE UNIQUE INDEX "grants_are_one_per_step_and_entitlement" ON "grants" USING btree ("execution_id","step_key",(case when "ended_reason" = 'lapsed' then "id" else "entitlement_id" end));