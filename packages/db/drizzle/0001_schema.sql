CREATE TABLE "entitlements" (
	"id" uuid PRIMARY KEY NOT NULL,
	"key" text NOT NULL,
	"provider" text NOT NULL,
	"identity" text NOT NULL,
	"access" jsonb NOT NULL,
	"state" text NOT NULL,
	"last_grant_call_at" timestamp (3) with time zone,
	"due_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"lease_until" timestamp (3) with time zone,
	"fence" integer DEFAULT 0 NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"last_error" text,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "entitlements_are_one_per_key" UNIQUE("key"),
	CONSTRAINT "entitlement_state_is_known" CHECK ("entitlements"."state" in ('absent', 'granting', 'granted', 'revoking')),
	CONSTRAINT "entitlement_was_called_before_it_is_granted" CHECK ("entitlements"."state" <> 'granted' or "entitlements"."last_grant_call_at" is not null)
);
--> statement-breakpoint
CREATE TABLE "grants" (
	"id" uuid PRIMARY KEY NOT NULL,
	"execution_id" uuid NOT NULL,
	"step_key" text NOT NULL,
	"entitlement_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"duration" bigint NOT NULL,
	"activated_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"ended_reason" text,
	"gone_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "grants_are_one_per_step_and_entitlement" UNIQUE("execution_id","step_key","entitlement_id"),
	CONSTRAINT "grant_must_expire_after_creation" CHECK ("grants"."expires_at" > "grants"."created_at"),
	CONSTRAINT "grant_ends_with_a_reason" CHECK (("grants"."ended_at" is null) = ("grants"."ended_reason" is null)),
	CONSTRAINT "grant_end_reason_is_known" CHECK ("grants"."ended_reason" in ('returned', 'revoked', 'cancelled', 'terminated', 'faulted', 'failed'))
);
--> statement-breakpoint
CREATE TABLE "approvals" (
	"id" uuid PRIMARY KEY NOT NULL,
	"execution_id" uuid NOT NULL,
	"step_key" text NOT NULL,
	"stage" integer DEFAULT 0 NOT NULL,
	"rule" jsonb NOT NULL,
	"excluded" jsonb NOT NULL,
	"subject" jsonb NOT NULL,
	"request_digest" text NOT NULL,
	"status" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"closed_at" timestamp (3) with time zone,
	CONSTRAINT "approvals_are_one_per_step_and_stage" UNIQUE("execution_id","step_key","stage"),
	CONSTRAINT "approval_status_is_known" CHECK ("approvals"."status" in ('open', 'approved', 'denied', 'expired', 'withdrawn'))
);
--> statement-breakpoint
CREATE TABLE "decisions" (
	"approval_id" uuid NOT NULL,
	"approver_id" uuid NOT NULL,
	"verdict" text NOT NULL,
	"comment" text,
	"request_digest" text NOT NULL,
	"via" text NOT NULL,
	"decided_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "decisions_pk" PRIMARY KEY("approval_id","approver_id"),
	CONSTRAINT "decision_verdict_is_known" CHECK ("decisions"."verdict" in ('approve', 'deny'))
);
--> statement-breakpoint
CREATE TABLE "catalogs" (
	"version" bigint PRIMARY KEY NOT NULL,
	"document" jsonb NOT NULL,
	"digest" text NOT NULL,
	"source" text NOT NULL,
	"applied_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "executions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"workflow" text NOT NULL,
	"definition" jsonb NOT NULL,
	"definition_digest" text NOT NULL,
	"catalog_version" integer NOT NULL,
	"owner_id" uuid NOT NULL,
	"input" jsonb NOT NULL,
	"status" text NOT NULL,
	"state" jsonb NOT NULL,
	"output" jsonb,
	"fault" jsonb,
	"cancel_requested_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"started_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	CONSTRAINT "execution_status_is_known" CHECK ("executions"."status" in ('pending', 'running', 'waiting', 'suspended', 'completed', 'faulted', 'cancelled', 'terminated')),
	CONSTRAINT "execution_has_ended_exactly_when_its_status_is_final" CHECK (("executions"."ended_at" is not null) = ("executions"."status" in ('completed', 'faulted', 'cancelled', 'terminated')))
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"user_id" uuid NOT NULL,
	"key" text NOT NULL,
	"request_digest" text NOT NULL,
	"execution_id" uuid NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "idempotency_keys_pk" PRIMARY KEY("user_id","key")
);
--> statement-breakpoint
CREATE TABLE "signals" (
	"execution_id" uuid NOT NULL,
	"source" text NOT NULL,
	"event_id" text NOT NULL,
	"type" text NOT NULL,
	"event" jsonb NOT NULL,
	"received_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"consumed_at" timestamp (3) with time zone,
	CONSTRAINT "signals_pk" PRIMARY KEY("execution_id","source","event_id")
);
--> statement-breakpoint
CREATE TABLE "steps" (
	"execution_id" uuid NOT NULL,
	"key" text NOT NULL,
	"kind" text NOT NULL,
	"status" text NOT NULL,
	"request" jsonb NOT NULL,
	"waiting_for" text,
	"attempt" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp (3) with time zone,
	"lease_until" timestamp (3) with time zone,
	"opened_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"closed_at" timestamp (3) with time zone,
	CONSTRAINT "steps_pk" PRIMARY KEY("execution_id","key"),
	CONSTRAINT "step_kind_is_known" CHECK ("steps"."kind" in ('call', 'timer', 'event')),
	CONSTRAINT "step_status_is_known" CHECK ("steps"."status" in ('open', 'done', 'failed', 'closed'))
);
--> statement-breakpoint
CREATE TABLE "ledger" (
	"seq" bigserial PRIMARY KEY NOT NULL,
	"at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"type" text NOT NULL,
	"level" text NOT NULL,
	"message" text NOT NULL,
	"actor" jsonb NOT NULL,
	"user_id" uuid,
	"provider" text,
	"execution_id" uuid,
	"entitlement_id" uuid,
	"data" jsonb,
	CONSTRAINT "ledger_level_is_known" CHECK ("ledger"."level" in ('info', 'warning', 'error'))
);
--> statement-breakpoint
CREATE TABLE "login_codes" (
	"code_hash" text PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"provider" text NOT NULL,
	"code_challenge" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"consumed_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "logins" (
	"secret_hash" text PRIMARY KEY NOT NULL,
	"id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"provider" text NOT NULL,
	"label" text,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "logins_have_one_id" UNIQUE("id"),
	CONSTRAINT "login_kind_is_known" CHECK ("logins"."kind" in ('browser', 'device', 'token'))
);
--> statement-breakpoint
CREATE TABLE "oauth_flows" (
	"state_hash" text PRIMARY KEY NOT NULL,
	"provider" text NOT NULL,
	"callback" text,
	"sealed" text NOT NULL,
	"code_challenge" text,
	"browser_hash" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"consumed_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" uuid PRIMARY KEY NOT NULL,
	"provider" text NOT NULL,
	"subject" text NOT NULL,
	"email" text NOT NULL,
	"name" text NOT NULL,
	"groups" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "users_are_known_once_per_provider" UNIQUE("provider","subject")
);
--> statement-breakpoint
ALTER TABLE "grants" ADD CONSTRAINT "grants_execution_id_executions_id_fk" FOREIGN KEY ("execution_id") REFERENCES "public"."executions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "grants" ADD CONSTRAINT "grants_entitlement_id_entitlements_id_fk" FOREIGN KEY ("entitlement_id") REFERENCES "public"."entitlements"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "grants" ADD CONSTRAINT "grants_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approvals" ADD CONSTRAINT "approvals_execution_id_executions_id_fk" FOREIGN KEY ("execution_id") REFERENCES "public"."executions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "decisions" ADD CONSTRAINT "decisions_approval_fk" FOREIGN KEY ("approval_id") REFERENCES "public"."approvals"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "decisions" ADD CONSTRAINT "decisions_approver_fk" FOREIGN KEY ("approver_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "executions" ADD CONSTRAINT "executions_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "signals" ADD CONSTRAINT "signals_execution_id_executions_id_fk" FOREIGN KEY ("execution_id") REFERENCES "public"."executions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "steps" ADD CONSTRAINT "steps_execution_id_executions_id_fk" FOREIGN KEY ("execution_id") REFERENCES "public"."executions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "login_codes" ADD CONSTRAINT "login_codes_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "logins" ADD CONSTRAINT "logins_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "entitlements_due_idx" ON "entitlements" USING btree ("due_at") WHERE "entitlements"."state" <> 'absent';--> statement-breakpoint
CREATE INDEX "grants_live_idx" ON "grants" USING btree ("entitlement_id","expires_at") WHERE "grants"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "grants_owed_idx" ON "grants" USING btree ("entitlement_id") WHERE "grants"."gone_at" is null;--> statement-breakpoint
CREATE INDEX "grants_held_idx" ON "grants" USING btree ("user_id","expires_at") WHERE "grants"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "approvals_open_idx" ON "approvals" USING btree ("expires_at") WHERE "approvals"."status" = 'open';--> statement-breakpoint
CREATE INDEX "catalogs_digest_idx" ON "catalogs" USING btree ("digest");--> statement-breakpoint
CREATE INDEX "executions_running_idx" ON "executions" USING btree ("owner_id","created_at") WHERE "executions"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "idempotency_keys_created_idx" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "signals_unconsumed_idx" ON "signals" USING btree ("execution_id","received_at") WHERE "signals"."consumed_at" is null;--> statement-breakpoint
CREATE INDEX "steps_due_idx" ON "steps" USING btree ("due_at") WHERE "steps"."status" = 'open' and "steps"."kind" in ('call', 'timer');--> statement-breakpoint
CREATE INDEX "ledger_execution_idx" ON "ledger" USING btree ("execution_id","seq");--> statement-breakpoint
CREATE INDEX "ledger_user_idx" ON "ledger" USING btree ("user_id","seq" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "login_codes_expires_idx" ON "login_codes" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "logins_user_idx" ON "logins" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "logins_expires_idx" ON "logins" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "oauth_flows_expires_idx" ON "oauth_flows" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "users_email_idx" ON "users" USING btree (lower("email"));