-- The one clock of the database. A test database replaces it with a function that reads a row.
CREATE FUNCTION app_now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS 'select now()';--> statement-breakpoint
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
	"target" text,
	"subject" jsonb,
	"address" text,
	"elsewhere" boolean DEFAULT false NOT NULL,
	"claim" text,
	"pending" text,
	"identity_email" text,
	CONSTRAINT "entitlements_are_one_per_key" UNIQUE("key"),
	CONSTRAINT "entitlement_state_is_known" CHECK ("entitlements"."state" in ('absent', 'granting', 'granted', 'revoking')),
	CONSTRAINT "entitlement_was_called_before_it_is_granted" CHECK ("entitlements"."state" <> 'granted' or "entitlements"."last_grant_call_at" is not null),
	CONSTRAINT "entitlement_is_pinned_whole" CHECK (("entitlements"."target" is null) = ("entitlements"."subject" is null))
);
COMMENT ON TABLE "entitlements" IS 'What a provider may hold on our account: this identity, this access, there. A row exists before the provider is touched (R1).';

CREATE TABLE "grants" (
	"id" uuid PRIMARY KEY NOT NULL,
	"execution_id" uuid NOT NULL,
	"step_key" text NOT NULL,
	"entitlement_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"duration" bigint NOT NULL,
	"activated_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	"ended_reason" text,
	"gone_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"activate_by" timestamp (3) with time zone,
	"known_as" jsonb,
	CONSTRAINT "grant_must_expire_after_creation" CHECK ("grants"."expires_at" > "grants"."created_at"),
	CONSTRAINT "grant_has_an_end" CHECK ("grants"."expires_at" is not null or ("grants"."activated_at" is null and "grants"."activate_by" is not null)),
	CONSTRAINT "grant_ends_with_a_reason" CHECK (("grants"."ended_at" is null) = ("grants"."ended_reason" is null)),
	CONSTRAINT "grant_end_reason_is_known" CHECK ("grants"."ended_reason" in ('returned', 'revoked', 'cancelled', 'terminated', 'faulted', 'failed', 'lapsed', 'deprovisioned'))
);
COMMENT ON TABLE "grants" IS 'Time-bounded claims on entitlements. Wanted is computed from these rows and stored nowhere (R3).';

CREATE TABLE "agents" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"secret_hash" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"enrolled_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"environment" text,
	"description" text,
	"catalog_version" bigint,
	"registered_at" timestamp (3) with time zone,
	"seen_at" timestamp (3) with time zone,
	CONSTRAINT "agents_have_one_name" UNIQUE("name"),
	CONSTRAINT "agents_have_one_credential" UNIQUE("secret_hash")
);
COMMENT ON TABLE "agents" IS 'Agents that an operator enrolled; only the hash of the credential is kept.';

CREATE TABLE "approval_audience" (
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"approval_id" uuid NOT NULL,
	CONSTRAINT "approval_audience_pk" PRIMARY KEY("kind","name","approval_id")
);
COMMENT ON TABLE "approval_audience" IS 'Whom an open approval asks: a row for each address and each group of its rule; kept by a trigger.';

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
	"renews" uuid,
	"because" text,
	"known_as" jsonb,
	CONSTRAINT "approvals_are_one_per_step_and_stage" UNIQUE("execution_id","step_key","stage"),
	CONSTRAINT "approvals_are_renewed_once" UNIQUE("renews"),
	CONSTRAINT "approval_is_renewed_for_a_reason" CHECK (("approvals"."renews" is null) = ("approvals"."because" is null)),
	CONSTRAINT "approval_status_is_known" CHECK ("approvals"."status" in ('open', 'approved', 'denied', 'expired', 'withdrawn'))
);
COMMENT ON TABLE "approvals" IS 'Questions put to approvers: what exactly, who may answer, by when.';

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
COMMENT ON TABLE "decisions" IS 'Answers of approvers, bound to the digest of what they saw.';

CREATE TABLE "known_identities" (
	"key" text PRIMARY KEY NOT NULL,
	"identity" text,
	"seen_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL
);
COMMENT ON TABLE "known_identities" IS 'Who a person was at a provider when it was last asked.';

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
COMMENT ON TABLE "archived_blocks" IS 'Archived entries of the ledger that are still here, and the digest under which they may be deleted';

CREATE TABLE "ledger_archives" (
	"digest" text PRIMARY KEY NOT NULL,
	"month" text NOT NULL,
	"rows" bigint NOT NULL,
	"archived_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
COMMENT ON TABLE "ledger_archives" IS 'Files of ledger entries of a month that were written and read back';

CREATE TABLE "catalogs" (
	"version" bigint PRIMARY KEY NOT NULL,
	"document" jsonb NOT NULL,
	"digest" text NOT NULL,
	"source" text NOT NULL,
	"applied_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL
);
COMMENT ON TABLE "catalogs" IS 'One immutable, versioned snapshot of roles, providers and workflows per row; the newest is in force.';

CREATE TABLE "comments" (
	"id" uuid PRIMARY KEY NOT NULL,
	"execution_id" uuid NOT NULL,
	"author_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"text" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "comment_kind_is_known" CHECK ("comments"."kind" in ('comment', 'question', 'answer')),
	CONSTRAINT "comment_has_a_text" CHECK ("comments"."text" <> '')
);
COMMENT ON TABLE "comments" IS 'What people wrote about a request, apart from their decisions: append-only, held by a trigger.';

CREATE TABLE "encryption_keys" (
	"kid" text PRIMARY KEY NOT NULL,
	"wrapped" "bytea" NOT NULL,
	"wrapped_by" text NOT NULL,
	"service" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"retired_at" timestamp (3) with time zone
);
COMMENT ON TABLE "encryption_keys" IS 'Data keys, each wrapped by the key of a key management service; without that service they open nothing.';

CREATE TABLE "definitions" (
	"digest" text PRIMARY KEY NOT NULL,
	"document" jsonb NOT NULL
);
COMMENT ON TABLE "definitions" IS 'Workflows as executions were started with them, once for each content; never changed, never deleted.';

CREATE TABLE "executions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"workflow" text NOT NULL,
	"definition" jsonb,
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
	"task_events" integer DEFAULT 0 NOT NULL,
	"version" integer DEFAULT 0 NOT NULL,
	"extends_id" uuid,
	CONSTRAINT "execution_status_is_known" CHECK ("executions"."status" in ('pending', 'running', 'waiting', 'suspended', 'completed', 'faulted', 'cancelled', 'terminated')),
	CONSTRAINT "execution_has_ended_exactly_when_its_status_is_final" CHECK (("executions"."ended_at" is not null) = ("executions"."status" in ('completed', 'faulted', 'cancelled', 'terminated')))
);
COMMENT ON TABLE "executions" IS 'Runs of workflows: definition, input and continuation.';

CREATE TABLE "idempotency_keys" (
	"user_id" uuid NOT NULL,
	"key" text NOT NULL,
	"request_digest" text NOT NULL,
	"execution_id" uuid NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "idempotency_keys_pk" PRIMARY KEY("user_id","key")
);
COMMENT ON TABLE "idempotency_keys" IS 'Idempotency-Key: the same key and body give the same execution for 24 hours.';

CREATE TABLE "signals" (
	"execution_id" uuid NOT NULL,
	"source" text NOT NULL,
	"event_id" text NOT NULL,
	"type" text NOT NULL,
	"event" jsonb NOT NULL,
	"received_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"consumed_at" timestamp (3) with time zone,
	"sender" jsonb,
	"delivery_id" text,
	CONSTRAINT "signals_pk" PRIMARY KEY("execution_id","source","event_id")
);
COMMENT ON TABLE "signals" IS 'CloudEvents delivered to an execution, once per source and id.';

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
	"outcome" jsonb,
	"outcome_at" timestamp (3) with time zone,
	"claim" text,
	"failures" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "steps_pk" PRIMARY KEY("execution_id","key"),
	CONSTRAINT "step_kind_is_known" CHECK ("steps"."kind" in ('call', 'timer', 'event', 'turn')),
	CONSTRAINT "step_status_is_known" CHECK ("steps"."status" in ('open', 'done', 'failed', 'closed'))
);
COMMENT ON TABLE "steps" IS 'What an execution waits for: a call, a timer or an event; resolved exactly once.';

CREATE TABLE "watches" (
	"execution_id" uuid PRIMARY KEY NOT NULL,
	"until" timestamp (3) with time zone NOT NULL
);
COMMENT ON TABLE "watches" IS 'Executions that a process follows now, until a time: only what the ledger says about these is notified.';

CREATE TABLE "ledger" (
	"seq" bigserial NOT NULL,
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
COMMENT ON TABLE "ledger" IS 'Append-only account of what happened: history, logs and audit trail are filters on it.';

CREATE TABLE "task_events" (
	"execution_id" uuid NOT NULL,
	"seq" bigint NOT NULL,
	"nth" integer NOT NULL,
	"at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"actor" jsonb NOT NULL,
	"user_id" uuid,
	"events" jsonb NOT NULL,
	CONSTRAINT "task_events_pk" PRIMARY KEY("execution_id","seq")
);
COMMENT ON TABLE "task_events" IS 'What the tasks of an execution did: a row for each move, the first and the last thousand events; in order with the ledger by seq.';

CREATE TABLE "disabled_channels" (
	"provider" text PRIMARY KEY NOT NULL,
	"catalog_version" integer NOT NULL,
	"reason" text NOT NULL,
	"disabled_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL
);
COMMENT ON TABLE "disabled_channels" IS 'Channels whose receiver wants no more messages, until the configuration changes.';

CREATE TABLE "messages" (
	"id" uuid PRIMARY KEY NOT NULL,
	"key" text NOT NULL,
	"approval_id" uuid,
	"provider" text NOT NULL,
	"recipient" text NOT NULL,
	"text" text,
	"receipt" jsonb,
	"delivered_at" timestamp (3) with time zone,
	"closed_at" timestamp (3) with time zone,
	"due_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"last_error" text,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"notice_id" uuid,
	"failed_at" timestamp (3) with time zone,
	"execution_id" uuid,
	"step_key" text,
	"title" text,
	CONSTRAINT "messages_are_queued_once" UNIQUE("key"),
	CONSTRAINT "message_is_about_one_thing" CHECK (num_nonnulls("messages"."approval_id", "messages"."notice_id", "messages"."execution_id") = 1),
	CONSTRAINT "message_of_a_step_is_whole" CHECK ("messages"."execution_id" is null or num_nulls("messages"."step_key", "messages"."title", "messages"."text") = 0)
);
COMMENT ON TABLE "messages" IS 'What people are told outside of Belay, about an approval or a notice or by a step of a workflow: delivered at least once.';

CREATE TABLE "notices" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"key" text NOT NULL,
	"kind" text NOT NULL,
	"execution_id" uuid,
	"approval_id" uuid,
	"entitlement_id" uuid,
	"user_id" uuid,
	"ends_at" timestamp (3) with time zone,
	"urgent" boolean DEFAULT false NOT NULL,
	"due_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"told_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"text" text,
	CONSTRAINT "notices_are_told_once" UNIQUE("key")
);
COMMENT ON TABLE "notices" IS 'That something is to be told: committed with what it tells of, then one message for each person and channel.';

CREATE TABLE "notification_preferences" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"channels" jsonb,
	"muted" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"quiet_from" text,
	"quiet_to" text,
	"time_zone" text,
	"updated_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "quiet_hours_are_whole" CHECK (("notification_preferences"."quiet_from" is null) = ("notification_preferences"."quiet_to" is null))
);
COMMENT ON TABLE "notification_preferences" IS 'What a person wants to be told, where and when.';

CREATE TABLE "told_kinds" (
	"kind" text PRIMARY KEY NOT NULL
);
COMMENT ON TABLE "told_kinds" IS 'The kinds of notices that the configuration in force tells; none while it names no channel.';

CREATE TABLE "device_logins" (
	"device_hash" text PRIMARY KEY NOT NULL,
	"user_code_hash" text NOT NULL,
	"label" text NOT NULL,
	"status" text DEFAULT 'open' NOT NULL,
	"provider" text,
	"subject" text,
	"polled_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"login_id" uuid,
	CONSTRAINT "device_logins_have_one_user_code" UNIQUE("user_code_hash"),
	CONSTRAINT "device_login_status_is_known" CHECK ("device_logins"."status" in ('open', 'approved', 'denied', 'used')),
	CONSTRAINT "device_login_has_its_person" CHECK ("device_logins"."status" <> 'approved' or "device_logins"."login_id" is not null)
);
COMMENT ON TABLE "device_logins" IS 'Logins that machines without a browser asked for, until somebody confirms them in theirs; hashes and sealed tokens only.';

CREATE TABLE "login_codes" (
	"code_hash" text PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"provider" text NOT NULL,
	"code_challenge" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"consumed_at" timestamp (3) with time zone,
	"subject" text,
	"sealed" text,
	"login_id" uuid
);
COMMENT ON TABLE "login_codes" IS 'One-time codes that a program exchanges for its login.';

CREATE TABLE "logins" (
	"secret_hash" text PRIMARY KEY NOT NULL,
	"id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"provider" text NOT NULL,
	"label" text,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"subject" text,
	"sid" text,
	"ends_at" timestamp (3) with time zone DEFAULT app_now() + interval '12 hours' NOT NULL,
	CONSTRAINT "logins_have_one_id" UNIQUE("id"),
	CONSTRAINT "login_kind_is_known" CHECK ("logins"."kind" in ('browser', 'device', 'token'))
);
COMMENT ON TABLE "logins" IS 'Proofs of who is calling; only the hash of the secret is kept.';

CREATE TABLE "logout_tokens" (
	"provider" text NOT NULL,
	"token_hash" text NOT NULL,
	"sid" text,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "logout_tokens_pk" PRIMARY KEY("provider","token_hash")
);
COMMENT ON TABLE "logout_tokens" IS 'Logout tokens that a provider sent, by their hash, until they are too old to be sent again (OpenID Connect Back-Channel Logout, 2.6).';

CREATE TABLE "oauth_flows" (
	"state_hash" text PRIMARY KEY NOT NULL,
	"provider" text NOT NULL,
	"callback" text,
	"sealed" text NOT NULL,
	"code_challenge" text,
	"browser_hash" text,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"consumed_at" timestamp (3) with time zone,
	"login_id" uuid,
	"purpose" text DEFAULT 'login' NOT NULL,
	"answer_hash" text,
	"answer" text,
	CONSTRAINT "oauth_flow_purpose_is_known" CHECK ("oauth_flows"."purpose" in ('login', 'session')),
	CONSTRAINT "oauth_flow_is_bound" CHECK ("oauth_flows"."browser_hash" is not null or ("oauth_flows"."purpose" = 'session' and "oauth_flows"."login_id" is not null)),
	CONSTRAINT "oauth_flow_answer_has_its_code" CHECK (("oauth_flows"."answer_hash" is null) = ("oauth_flows"."answer" is null))
);
COMMENT ON TABLE "oauth_flows" IS 'Logins on their way to a provider and back; consumed once.';

CREATE TABLE "program_logins" (
	"request_hash" text PRIMARY KEY NOT NULL,
	"login_id" uuid NOT NULL,
	"browser_hash" text NOT NULL,
	"provider" text NOT NULL,
	"subject" text NOT NULL,
	"label" text,
	"callback" text NOT NULL,
	"code_challenge" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
COMMENT ON TABLE "program_logins" IS 'A program that waits for its person''s click before it gets a code (RFC 8252, section 8.6). Bound to the login and the browser it was begun in; gone with the first decision.';

CREATE TABLE "starred_roles" (
	"user_id" uuid NOT NULL,
	"role" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "starred_roles_pk" PRIMARY KEY("user_id","role")
);
COMMENT ON TABLE "starred_roles" IS 'The roles that a person wants to find first. The role may have left the configuration';

CREATE TABLE "user_identities" (
	"provider" text NOT NULL,
	"subject" text NOT NULL,
	"user_id" uuid NOT NULL,
	"email" text NOT NULL,
	"name" text NOT NULL,
	"groups" jsonb NOT NULL,
	"linked_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"email_folded" text,
	"organizations" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"issuer" text,
	"told_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"former" jsonb DEFAULT '[]'::jsonb NOT NULL,
	CONSTRAINT "user_identities_pk" PRIMARY KEY("provider","subject")
);
COMMENT ON TABLE "user_identities" IS 'What a person is to each provider that they are known at; an identity has one person.';

CREATE TABLE "users" (
	"id" uuid PRIMARY KEY NOT NULL,
	"provider" text NOT NULL,
	"subject" text NOT NULL,
	"email" text NOT NULL,
	"name" text NOT NULL,
	"groups" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"deprovisioned_at" timestamp (3) with time zone,
	CONSTRAINT "users_are_known_once_per_provider" UNIQUE("provider","subject")
);
COMMENT ON TABLE "users" IS 'A person, as a provider knows them.';

CREATE TABLE "provisioned_groups" (
	"id" uuid PRIMARY KEY NOT NULL,
	"provider" text NOT NULL,
	"display_name" text NOT NULL,
	"external_id" text,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "provisioned_groups_have_one_name" UNIQUE("provider","display_name")
);
COMMENT ON TABLE "provisioned_groups" IS 'Groups as directories provisioned them by SCIM.';

CREATE TABLE "provisioned_members" (
	"group_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	CONSTRAINT "provisioned_members_pk" PRIMARY KEY("group_id","user_id")
);
COMMENT ON TABLE "provisioned_members" IS 'Which provisioned people are in which provisioned groups.';

CREATE TABLE "provisioned_users" (
	"id" uuid PRIMARY KEY NOT NULL,
	"provider" text NOT NULL,
	"user_name" text NOT NULL,
	"user_name_folded" text NOT NULL,
	"external_id" text,
	"active" boolean NOT NULL,
	"addresses" jsonb NOT NULL,
	"details" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	"former" jsonb DEFAULT '[]'::jsonb NOT NULL
);
COMMENT ON TABLE "provisioned_users" IS 'People as directories provisioned them by SCIM, deleted ones included: an inactive or deleted one locks its person out.';

CREATE TABLE "provisioning_tokens" (
	"id" uuid PRIMARY KEY NOT NULL,
	"provider" text NOT NULL,
	"secret_hash" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "provisioning_tokens_have_one_secret" UNIQUE("secret_hash")
);
COMMENT ON TABLE "provisioning_tokens" IS 'Bearer tokens with which directories provision people by SCIM, by hash.';

CREATE TABLE "clusters" (
	"one" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"system" text NOT NULL,
	"timeline" integer NOT NULL,
	"database" text NOT NULL,
	CONSTRAINT "clusters_is_one_row" CHECK ("clusters"."one")
);
COMMENT ON TABLE "clusters" IS 'One row: where this database was when Belay saw it last; a restored or promoted one is elsewhere';

CREATE TABLE "comparisons" (
	"provider" text NOT NULL,
	"epoch" integer NOT NULL,
	"lease_until" timestamp (3) with time zone NOT NULL,
	"compared_at" timestamp (3) with time zone,
	"skipped" text,
	"last_error" text,
	CONSTRAINT "comparisons_pk" PRIMARY KEY("provider"),
	CONSTRAINT "comparison_is_skipped_at_a_time" CHECK ("comparisons"."skipped" is null or "comparisons"."compared_at" is not null)
);
COMMENT ON TABLE "comparisons" IS 'The latest comparison of each provider with its rows after a restore';

CREATE TABLE "drift_audits" (
	"provider" text NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL,
	"audited_at" timestamp (3) with time zone,
	CONSTRAINT "drift_audits_pk" PRIMARY KEY("provider")
);
COMMENT ON TABLE "drift_audits" IS 'When each provider is compared with its rows next, so that one worker does it';

CREATE TABLE "drifts" (
	"key" text NOT NULL,
	"kind" text NOT NULL,
	"provider" text NOT NULL,
	"found_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"seen_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "drifts_pk" PRIMARY KEY("key","kind"),
	CONSTRAINT "drift_kind_is_known" CHECK ("drifts"."kind" in ('leftover', 'unknown', 'missing'))
);
COMMENT ON TABLE "drifts" IS 'What the latest comparison of a provider with its rows found to differ';

CREATE TABLE "leftovers" (
	"id" uuid PRIMARY KEY NOT NULL,
	"key" text NOT NULL,
	"epoch" integer NOT NULL,
	"provider" text NOT NULL,
	"identity" text NOT NULL,
	"access" jsonb NOT NULL,
	"target" text,
	"subject" jsonb,
	"mark" text,
	"answer" text,
	"found_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "leftovers_are_one_per_key" UNIQUE("key"),
	CONSTRAINT "leftover_answer_is_known" CHECK ("leftovers"."answer" in ('keep', 'revoke'))
);
COMMENT ON TABLE "leftovers" IS 'Access that a comparison found and that an operator must decide about';

CREATE TABLE "restores" (
	"one" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"epoch" integer NOT NULL,
	"closed_at" timestamp (3) with time zone,
	"reason" text NOT NULL,
	"noticed" boolean DEFAULT false NOT NULL,
	CONSTRAINT "restores_is_one_row" CHECK ("restores"."one")
);
COMMENT ON TABLE "restores" IS 'Whether grants wait until every provider was compared with the rows of a restored database; one row at most';

CREATE TABLE "reviews" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"execution_id" uuid NOT NULL,
	"rule" jsonb NOT NULL,
	"opened_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL,
	"closed_at" timestamp (3) with time zone,
	"closed_by" uuid,
	"verdict" text,
	"note" text,
	CONSTRAINT "review_verdict_is_known" CHECK ("reviews"."verdict" in ('justified', 'not_justified')),
	CONSTRAINT "review_is_closed_whole" CHECK (num_nonnulls("reviews"."closed_at", "reviews"."closed_by", "reviews"."verdict", "reviews"."note") in (0, 4)),
	CONSTRAINT "review_has_a_note" CHECK ("reviews"."note" <> '')
);
COMMENT ON TABLE "reviews" IS 'Uses of roles for emergencies that are to be reviewed: opened by a trigger on grants, closed once.';

CREATE TABLE "reachable" (
	"one" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"milliseconds" bigint DEFAULT 0 NOT NULL,
	"seen_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	CONSTRAINT "reachable_is_one_row" CHECK ("reachable"."one")
);
COMMENT ON TABLE "reachable" IS 'One row: for how long a server could be reached, counted while runs exist.';

CREATE TABLE "runs" (
	"id" uuid PRIMARY KEY NOT NULL,
	"execution_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"requested" boolean NOT NULL,
	"lease" bigint NOT NULL,
	"due_at" bigint NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"outcome" text,
	"settled_at" timestamp (3) with time zone,
	CONSTRAINT "run_outcome_is_known" CHECK ("runs"."outcome" in ('given_back', 'in_use', 'left')),
	CONSTRAINT "run_ends_with_an_outcome" CHECK (("runs"."ended_at" is null) = ("runs"."outcome" is null)),
	CONSTRAINT "run_settles_after_its_end" CHECK ("runs"."settled_at" is null or "runs"."ended_at" is not null),
	CONSTRAINT "run_has_a_lease" CHECK ("runs"."lease" > 0)
);
COMMENT ON TABLE "runs" IS 'Commands that run with the access of an execution; one whose heartbeat stays away for its lease ends.';

CREATE TABLE "sessions" (
	"login_id" uuid NOT NULL,
	"provider" text NOT NULL,
	"user_id" uuid NOT NULL,
	"subject" text NOT NULL,
	"version" integer NOT NULL,
	"sealed" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT app_now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"refresh_at" timestamp (3) with time zone,
	"lease_until" timestamp (3) with time zone,
	"sid" text,
	"ends_at" timestamp (3) with time zone DEFAULT app_now() + interval '12 hours' NOT NULL,
	CONSTRAINT "sessions_pk" PRIMARY KEY("login_id","provider"),
	CONSTRAINT "session_version_counts_from_one" CHECK ("sessions"."version" >= 1)
);
COMMENT ON TABLE "sessions" IS 'The session of a login with one provider: its tokens, sealed, with a version and an expiry. Gone with the login.';--> statement-breakpoint
ALTER TABLE "grants" ADD CONSTRAINT "grants_execution_id_executions_id_fk" FOREIGN KEY ("execution_id") REFERENCES "public"."executions"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "grants" ADD CONSTRAINT "grants_entitlement_id_entitlements_id_fk" FOREIGN KEY ("entitlement_id") REFERENCES "public"."entitlements"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "grants" ADD CONSTRAINT "grants_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "approvals" ADD CONSTRAINT "approvals_execution_id_executions_id_fk" FOREIGN KEY ("execution_id") REFERENCES "public"."executions"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "decisions" ADD CONSTRAINT "decisions_approval_fk" FOREIGN KEY ("approval_id") REFERENCES "public"."approvals"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "decisions" ADD CONSTRAINT "decisions_approver_fk" FOREIGN KEY ("approver_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "executions" ADD CONSTRAINT "executions_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "signals" ADD CONSTRAINT "signals_execution_id_executions_id_fk" FOREIGN KEY ("execution_id") REFERENCES "public"."executions"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "steps" ADD CONSTRAINT "steps_execution_id_executions_id_fk" FOREIGN KEY ("execution_id") REFERENCES "public"."executions"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "login_codes" ADD CONSTRAINT "login_codes_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "logins" ADD CONSTRAINT "logins_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "user_identities" ADD CONSTRAINT "user_identities_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_login_id_logins_id_fk" FOREIGN KEY ("login_id") REFERENCES "public"."logins"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "device_logins" ADD CONSTRAINT "device_logins_login_id_logins_id_fk" FOREIGN KEY ("login_id") REFERENCES "public"."logins"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "program_logins" ADD CONSTRAINT "program_logins_login_id_logins_id_fk" FOREIGN KEY ("login_id") REFERENCES "public"."logins"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "login_codes" ADD CONSTRAINT "login_codes_login_id_logins_id_fk" FOREIGN KEY ("login_id") REFERENCES "public"."logins"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "messages" ADD CONSTRAINT "messages_approval_fk" FOREIGN KEY ("approval_id") REFERENCES "public"."approvals"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "provisioned_members" ADD CONSTRAINT "provisioned_members_group_fk" FOREIGN KEY ("group_id") REFERENCES "public"."provisioned_groups"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "provisioned_members" ADD CONSTRAINT "provisioned_members_user_fk" FOREIGN KEY ("user_id") REFERENCES "public"."provisioned_users"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "runs" ADD CONSTRAINT "runs_execution_id_executions_id_fk" FOREIGN KEY ("execution_id") REFERENCES "public"."executions"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "runs" ADD CONSTRAINT "runs_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "executions" ADD CONSTRAINT "executions_extends_fk" FOREIGN KEY ("extends_id") REFERENCES "public"."executions"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "comments" ADD CONSTRAINT "comments_author_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "notification_preferences" ADD CONSTRAINT "notification_preferences_user_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "messages" ADD CONSTRAINT "messages_notice_fk" FOREIGN KEY ("notice_id") REFERENCES "public"."notices"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "starred_roles" ADD CONSTRAINT "starred_roles_user_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "messages" ADD CONSTRAINT "messages_execution_fk" FOREIGN KEY ("execution_id") REFERENCES "public"."executions"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "archived_blocks" ADD CONSTRAINT "archived_blocks_archive_fk" FOREIGN KEY ("archive") REFERENCES "public"."ledger_archives"("digest") ON DELETE no action ON UPDATE no action;
ALTER TABLE "comments" ADD CONSTRAINT "comments_execution_fk" FOREIGN KEY ("execution_id") REFERENCES "public"."executions"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "reviews" ADD CONSTRAINT "reviews_execution_fk" FOREIGN KEY ("execution_id") REFERENCES "public"."executions"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "reviews" ADD CONSTRAINT "reviews_closed_by_fk" FOREIGN KEY ("closed_by") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "entitlements_due_idx" ON "entitlements" USING btree ("due_at") WHERE "entitlements"."state" <> 'absent';
CREATE INDEX "grants_owed_idx" ON "grants" USING btree ("entitlement_id") WHERE "grants"."gone_at" is null;
CREATE INDEX "approvals_open_idx" ON "approvals" USING btree ("expires_at") WHERE "approvals"."status" = 'open';
CREATE INDEX "catalogs_digest_idx" ON "catalogs" USING btree ("digest");
CREATE INDEX "executions_running_idx" ON "executions" USING btree ("owner_id","created_at") WHERE "executions"."ended_at" is null;
CREATE INDEX "idempotency_keys_created_idx" ON "idempotency_keys" USING btree ("created_at");
CREATE INDEX "signals_unconsumed_idx" ON "signals" USING btree ("execution_id","received_at") WHERE "signals"."consumed_at" is null;
CREATE INDEX "login_codes_expires_idx" ON "login_codes" USING btree ("expires_at");
CREATE INDEX "logins_user_idx" ON "logins" USING btree ("user_id");
CREATE INDEX "logins_expires_idx" ON "logins" USING btree ("expires_at");
CREATE INDEX "oauth_flows_expires_idx" ON "oauth_flows" USING btree ("expires_at");
CREATE INDEX "agents_seen_idx" ON "agents" USING btree ("seen_at");
CREATE INDEX "user_identities_user_idx" ON "user_identities" USING btree ("user_id");
CREATE INDEX "sessions_user_idx" ON "sessions" USING btree ("user_id");
CREATE INDEX "sessions_expires_idx" ON "sessions" USING btree ("expires_at");
CREATE INDEX "sessions_refresh_idx" ON "sessions" USING btree ("refresh_at") WHERE "sessions"."refresh_at" is not null;
CREATE INDEX "ledger_nobody_idx" ON "ledger" USING btree ("type","seq" DESC NULLS LAST) WHERE "ledger"."user_id" is null;
CREATE UNIQUE INDEX "one_encryption_key_seals_idx" ON "encryption_keys" USING btree ("service") WHERE "encryption_keys"."retired_at" is null;
CREATE INDEX "device_logins_expires_idx" ON "device_logins" USING btree ("expires_at");
CREATE INDEX "device_logins_login_idx" ON "device_logins" USING btree ("login_id");
CREATE INDEX "program_logins_expires_idx" ON "program_logins" USING btree ("expires_at");
CREATE INDEX "program_logins_login_idx" ON "program_logins" USING btree ("login_id");
CREATE INDEX "login_codes_login_idx" ON "login_codes" USING btree ("login_id");
CREATE INDEX "watches_until_idx" ON "watches" USING btree ("until");
CREATE INDEX "user_identities_email_folded_idx" ON "user_identities" USING btree ("email_folded");
CREATE INDEX "user_identities_issuer_idx" ON "user_identities" USING btree ("issuer","subject") WHERE "user_identities"."issuer" is not null;
CREATE INDEX "logout_tokens_expires_idx" ON "logout_tokens" USING btree ("expires_at");
CREATE INDEX "logins_identity_idx" ON "logins" USING btree ("provider","subject");
CREATE INDEX "sessions_identity_idx" ON "sessions" USING btree ("provider","subject");
CREATE UNIQUE INDEX "signals_delivery_idx" ON "signals" USING btree ("source","delivery_id") WHERE "signals"."delivery_id" is not null;
CREATE INDEX "entitlements_elsewhere_idx" ON "entitlements" USING btree ("id") WHERE "entitlements"."elsewhere";
CREATE INDEX "task_events_user_idx" ON "task_events" USING btree ("user_id","seq" DESC NULLS LAST);
CREATE INDEX "entitlements_due_there_idx" ON "entitlements" USING btree ("provider","due_at") WHERE "entitlements"."state" <> 'absent';
CREATE INDEX "steps_due_idx" ON "steps" USING btree ("due_at") WHERE "steps"."status" = 'open' and "steps"."kind" <> 'event';
CREATE INDEX "ledger_user_notable_idx" ON "ledger" USING btree ("user_id","seq" DESC NULLS LAST) WHERE "ledger"."level" <> 'info';
CREATE INDEX "ledger_acted_idx" ON "ledger" USING btree (("actor" ->> 'id'),"seq" DESC NULLS LAST) WHERE ("ledger"."actor" ->> 'id') <> coalesce("ledger"."user_id"::text, '');
CREATE INDEX "ledger_acted_on_idx" ON "ledger" USING btree (("actor" ->> 'id'),"user_id","seq" DESC NULLS LAST) WHERE ("ledger"."actor" ->> 'id') <> coalesce("ledger"."user_id"::text, '');
CREATE INDEX "ledger_acted_notable_idx" ON "ledger" USING btree (("actor" ->> 'id'),"seq" DESC NULLS LAST) WHERE ("ledger"."actor" ->> 'id') <> coalesce("ledger"."user_id"::text, '') and "ledger"."level" <> 'info';
CREATE INDEX "approval_audience_approval_idx" ON "approval_audience" USING btree ("approval_id");
CREATE INDEX "ledger_seq_idx" ON "ledger" USING brin ("seq") WITH (autosummarize=true);
CREATE INDEX "steps_failing_idx" ON "steps" USING btree ("execution_id") WHERE "steps"."status" = 'open' and "steps"."failures" > 0;
CREATE INDEX "grants_live_idx" ON "grants" USING btree ("entitlement_id",coalesce("expires_at", "activate_by")) WHERE "grants"."ended_at" is null;
CREATE INDEX "grants_over_idx" ON "grants" USING btree (least("ended_at", coalesce("expires_at", "activate_by")),"entitlement_id") WHERE "grants"."gone_at" is null;
CREATE INDEX "grants_held_idx" ON "grants" USING btree ("user_id",coalesce("expires_at", "activate_by")) WHERE "grants"."ended_at" is null;
CREATE INDEX "messages_open_idx" ON "messages" USING btree ("due_at") WHERE "messages"."closed_at" is null;
CREATE INDEX "provisioned_groups_provider_idx" ON "provisioned_groups" USING btree ("provider","id");
CREATE INDEX "provisioned_members_user_idx" ON "provisioned_members" USING btree ("user_id");
CREATE UNIQUE INDEX "provisioned_users_have_one_name" ON "provisioned_users" USING btree ("provider","user_name_folded") WHERE "provisioned_users"."deleted_at" is null;
CREATE INDEX "provisioned_users_name_idx" ON "provisioned_users" USING btree ("user_name_folded");
CREATE INDEX "provisioned_users_external_idx" ON "provisioned_users" USING btree ("external_id");
CREATE INDEX "provisioned_users_addresses_idx" ON "provisioned_users" USING gin ("addresses");
CREATE INDEX "provisioned_users_provider_idx" ON "provisioned_users" USING btree ("provider","id");
CREATE INDEX "provisioning_tokens_provider_idx" ON "provisioning_tokens" USING btree ("provider");
CREATE INDEX "runs_due_idx" ON "runs" USING btree ("due_at") WHERE "runs"."settled_at" is null;
CREATE INDEX "runs_execution_idx" ON "runs" USING btree ("execution_id");
CREATE INDEX "ledger_time_idx" ON "ledger" USING btree ("at","seq");
CREATE INDEX "users_email_idx" ON "users" USING btree ("email","id");
CREATE INDEX "decisions_of_approver_idx" ON "decisions" USING btree ("approver_id","decided_at","approval_id");
CREATE UNIQUE INDEX "executions_have_one_extension_at_a_time" ON "executions" USING btree ("extends_id") WHERE "executions"."extends_id" is not null and "executions"."ended_at" is null;
CREATE INDEX "executions_of_owner_idx" ON "executions" USING btree ("owner_id","created_at","id");
CREATE INDEX "executions_by_time_idx" ON "executions" USING btree ("created_at","id");
CREATE INDEX "comments_execution_idx" ON "comments" USING btree ("execution_id","created_at","id");
CREATE INDEX "comments_author_idx" ON "comments" USING btree ("author_id","created_at");
CREATE INDEX "notices_due_idx" ON "notices" USING btree ("due_at") WHERE "notices"."told_at" is null;
CREATE INDEX "messages_failed_idx" ON "messages" USING btree ("failed_at") WHERE "messages"."failed_at" is not null;
CREATE INDEX "executions_extends_idx" ON "executions" USING btree ("extends_id") WHERE "executions"."extends_id" is not null;
CREATE INDEX "runs_live_idx" ON "runs" USING btree ("user_id") WHERE "runs"."ended_at" is null;
CREATE INDEX "leftovers_open_idx" ON "leftovers" USING btree ("id") WHERE "leftovers"."answer" is null;
CREATE INDEX "drifts_of_provider_idx" ON "drifts" USING btree ("provider","seen_at");
CREATE INDEX "messages_of_step_idx" ON "messages" USING btree ("execution_id","step_key") WHERE "messages"."execution_id" is not null;
CREATE INDEX "messages_closed_idx" ON "messages" USING btree ("closed_at") WHERE "messages"."closed_at" is not null;
CREATE INDEX "messages_approval_idx" ON "messages" USING btree ("approval_id") WHERE "messages"."approval_id" is not null;
CREATE INDEX "messages_notice_idx" ON "messages" USING btree ("notice_id") WHERE "messages"."notice_id" is not null;
CREATE INDEX "notices_told_idx" ON "notices" USING btree ("told_at") WHERE "notices"."told_at" is not null;
CREATE INDEX "runs_settled_idx" ON "runs" USING btree ("settled_at") WHERE "runs"."settled_at" is not null;
CREATE INDEX "archived_blocks_position_idx" ON "archived_blocks" USING btree ("first_at","first_seq");
CREATE INDEX "ledger_archives_month_idx" ON "ledger_archives" USING btree ("month");
CREATE INDEX "user_identities_groups_idx" ON "user_identities" USING gin ("groups");
CREATE UNIQUE INDEX "grants_are_one_per_step_and_entitlement" ON "grants" USING btree ("execution_id","step_key",(case when "ended_reason" = 'lapsed' then "id" else "entitlement_id" end));
CREATE UNIQUE INDEX "reviews_are_open_once" ON "reviews" USING btree ("execution_id") WHERE "reviews"."closed_at" is null;
CREATE INDEX "reviews_execution_idx" ON "reviews" USING btree ("execution_id");
CREATE INDEX "reviews_due_idx" ON "reviews" USING btree ("due_at") WHERE "reviews"."closed_at" is null;
CREATE INDEX "reviews_open_idx" ON "reviews" USING btree ("opened_at","id") WHERE "reviews"."closed_at" is null;
CREATE INDEX "reviews_opened_idx" ON "reviews" USING btree ("opened_at","id");
CREATE INDEX "entitlements_failing_idx" ON "entitlements" USING btree ("provider") WHERE "entitlements"."state" <> 'absent' and "entitlements"."failures" > 0;
CREATE INDEX "approvals_oldest_idx" ON "approvals" USING btree ("created_at","expires_at") WHERE "approvals"."status" = 'open';
CREATE INDEX "ledger_execution_idx" ON "ledger" USING btree ("execution_id",("seq"::bigint >> 17));
CREATE INDEX "ledger_user_idx" ON "ledger" USING btree ("user_id",("seq"::bigint >> 17));--> statement-breakpoint
-- Without statistics of its own the expression counts as true for a third of the rows: those of partial indexes are not used.
CREATE STATISTICS "grants_over_at" ON (coalesce("expires_at", "activate_by")) FROM "grants";

-- A row of task events takes a number for each of its events.
ALTER SEQUENCE "ledger_seq_seq" INCREMENT BY 100;
INSERT INTO "reachable" DEFAULT VALUES;

-- Raises the version of an execution whose state is written by a statement that does not raise it.
CREATE FUNCTION count_move() RETURNS trigger LANGUAGE plpgsql AS 'begin new.version := old.version + 1; return new; end';
CREATE TRIGGER executions_count_moves BEFORE UPDATE OF "state" ON "executions" FOR EACH ROW
  WHEN (new.version = old.version) EXECUTE FUNCTION count_move();

-- Locks a person (as stopping them does) and then reads whether their login is live and how many requests they have open. Volatile: each
-- of its statements has its own snapshot, so what is counted was read under the lock, within the statement that starts a request.
CREATE FUNCTION admit_request(person uuid, login uuid, OUT live boolean, OUT open integer) LANGUAGE plpgsql VOLATILE AS '
begin
  perform from users where id = person for no key update;
  live := exists (select from logins where id = login and expires_at > app_now());
  open := (select count(*) from executions where owner_id = person and ended_at is null)
    + (select count(distinct grants.execution_id) from grants join executions on executions.id = grants.execution_id
      where grants.user_id = person and grants.ended_at is null and coalesce(grants.expires_at, grants.activate_by) > app_now()
        and executions.ended_at is not null);
end';

-- Locks an execution for the end of its access, and then reads whether it has ended and stands alone: extends no other one, and is not
-- extended. Volatile: the second statement has a snapshot of its own, so an extension that the lock waited for is seen.
CREATE FUNCTION lock_ended_execution(execution uuid, owner uuid) RETURNS boolean LANGUAGE plpgsql VOLATILE AS '
begin
  perform from executions where id = execution and owner_id = owner and ended_at is not null and extends_id is null for update;
  return found and not exists (select from executions where extends_id = execution);
end';

-- A trigger, so that the audience is written by every statement that opens or closes an approval.
CREATE FUNCTION keep_approval_audience() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  if new.status <> 'open' then
    delete from approval_audience where approval_id = new.id;
  else
    insert into approval_audience (kind, name, approval_id)
      select 'user', name, new.id from jsonb_array_elements_text(new.rule -> 'users') name
      union select 'group', name, new.id from jsonb_array_elements_text(new.rule -> 'groups') name
      on conflict do nothing;
  end if;
  return null;
end $$;
CREATE TRIGGER approvals_open_to_audience AFTER INSERT ON "approvals" FOR EACH ROW
  WHEN (new.status = 'open') EXECUTE FUNCTION keep_approval_audience();
CREATE TRIGGER approvals_change_audience AFTER UPDATE OF "status" ON "approvals" FOR EACH ROW
  WHEN (new.status <> old.status) EXECUTE FUNCTION keep_approval_audience();

-- The foreign key deletes comments with their request, which is gone by then.
CREATE FUNCTION keep_comments() RETURNS trigger LANGUAGE plpgsql AS 'begin if tg_op = ''DELETE'' and not exists (select from public.executions where id = old.execution_id) then return null; end if; raise exception ''comments are append-only''; end';

-- After the change, so that a constraint that it breaks as well is the one that is named.
CREATE TRIGGER comments_are_kept AFTER UPDATE OR DELETE ON "comments" FOR EACH ROW EXECUTE FUNCTION keep_comments();

-- Triggers, so that each notice is committed with what it tells of, by whichever statement that was written.
-- What is told must never stop what it tells of: a notice that cannot be written is left out, and one that is being told is not waited for.
CREATE FUNCTION write_approval_notice() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  -- First, because a block that catches errors costs a subtransaction.
  if not exists (select from told_kinds where kind = tg_argv[0]) then return null; end if;
  begin
    insert into notices (key, kind, execution_id, approval_id)
      values (tg_argv[0] || ':' || new.id, tg_argv[0], new.execution_id, new.id)
      on conflict do nothing;
  exception when others then
    raise warning 'the notice % of approval % was not written: %', tg_argv[0], new.id, sqlerrm;
  end;
  return null;
end $$;

CREATE FUNCTION write_access_notice() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  if not exists (select from told_kinds where kind = tg_argv[0]) then return null; end if;
  begin
    insert into notices (key, kind, execution_id, user_id)
      values (tg_argv[0] || ':' || new.execution_id, tg_argv[0], new.execution_id, new.user_id)
      on conflict do nothing;
    -- One that waits for the request's other grants is looked at again; who holds it now looks at it now, or again in a minute.
    if not found then
      update notices set due_at = app_now() where id in (
        select id from notices where key = tg_argv[0] || ':' || new.execution_id and told_at is null for update skip locked);
    end if;
  exception when others then
    raise warning 'the notice % of execution % was not written: %', tg_argv[0], new.execution_id, sqlerrm;
  end;
  return null;
end $$;
CREATE TRIGGER approvals_opened_are_told AFTER INSERT ON "approvals" FOR EACH ROW
  WHEN (new.status = 'open') EXECUTE FUNCTION write_approval_notice('request.waiting');
CREATE TRIGGER approvals_decided_are_told AFTER UPDATE OF "status" ON "approvals" FOR EACH ROW
  WHEN (old.status = 'open' and new.status in ('approved', 'denied', 'expired')) EXECUTE FUNCTION write_approval_notice('request.decided');
CREATE TRIGGER grants_active_are_told AFTER UPDATE OF "activated_at" ON "grants" FOR EACH ROW
  WHEN (old.activated_at is null and new.activated_at is not null) EXECUTE FUNCTION write_access_notice('access.active');
CREATE TRIGGER grants_gone_are_told AFTER UPDATE OF "gone_at" ON "grants" FOR EACH ROW
  WHEN (old.gone_at is null and new.gone_at is not null and new.activated_at is not null) EXECUTE FUNCTION write_access_notice('access.ended');

CREATE FUNCTION write_break_glass_notice() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  -- First, because a block that catches errors costs a subtransaction.
  if not exists (select from told_kinds where kind = 'break_glass.used') then return null; end if;
  if not exists (select from executions where id = new.execution_id and input ? 'break_glass') then return null; end if;
  begin
    insert into notices (key, kind, execution_id, urgent)
      values ('break_glass.used:' || new.execution_id, 'break_glass.used', new.execution_id, true)
      on conflict do nothing;
  exception when others then
    raise warning 'the notice break_glass.used of execution % was not written: %', new.execution_id, sqlerrm;
  end;
  return null;
end $$;
CREATE TRIGGER grants_of_emergencies_are_told AFTER UPDATE OF "activated_at" ON "grants" FOR EACH ROW
  WHEN (old.activated_at is null and new.activated_at is not null) EXECUTE FUNCTION write_break_glass_notice();

-- From the claim of a grant call on, the access may be there (R4). When the call is not followed by the record of the access, but by a failure,
-- another call or a revocation, its use is told as well: the provider may hold it and not say so.
CREATE FUNCTION write_unseen_break_glass_notice() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  if not exists (select from told_kinds where kind = 'break_glass.used') then return null; end if;
  begin
    insert into notices (key, kind, execution_id, urgent)
      select distinct 'break_glass.used:' || e.id, 'break_glass.used', e.id, true
        from grants g join executions e on e.id = g.execution_id
        where g.entitlement_id = new.id and g.activated_at is null and g.gone_at is null
          and g.created_at <= old.last_grant_call_at and e.input ? 'break_glass'
      on conflict do nothing;
  exception when others then
    raise warning 'notices break_glass.used of entitlement % were not written: %', new.id, sqlerrm;
  end;
  return null;
end $$;
CREATE TRIGGER entitlements_of_emergencies_are_told AFTER UPDATE OF "state", "failures", "last_grant_call_at" ON "entitlements" FOR EACH ROW
  WHEN (old.state = 'granting' and old.last_grant_call_at is not null
    and (new.state = 'revoking' or new.failures > old.failures or new.last_grant_call_at > old.last_grant_call_at))
  EXECUTE FUNCTION write_unseen_break_glass_notice();

-- What opens a review, for access that became active and for access that a provider may have held and that was never seen there.
CREATE FUNCTION open_review_of(execution uuid, person uuid, ends timestamptz) RETURNS void LANGUAGE plpgsql AS $$
declare
  asked jsonb;
  named text;
  root uuid;
  made uuid := gen_random_uuid();
  opened reviews;
begin
  select input #> '{break_glass,review}', input ->> 'role' into asked, named from executions where id = execution;
  if asked is null then return; end if;
  with recursive above (id, extends_id) as (
    select e.id, e.extends_id from executions e where e.id = execution
    union select e.id, e.extends_id from executions e join above on e.id = above.extends_id)
  select id into root from above where extends_id is null;
  -- A review that is being closed is waited for: closed, it is in the way no more, and this use has one of its own.
  insert into reviews as open (id, execution_id, rule, due_at)
    values (made, root, asked - 'within', coalesce(ends, app_now()) + (asked ->> 'within')::float8 * interval '1 millisecond')
    on conflict (execution_id) where closed_at is null do update set due_at = greatest(open.due_at, excluded.due_at)
    returning * into opened;
  if opened.id <> made then return; end if;
  insert into ledger (type, level, message, actor, user_id, execution_id, data)
    values ('review.opened', 'info',
      'The use of ' || named || ', a role for emergencies, has to be reviewed before ' || to_char(opened.due_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      '{"system": "reviews"}', person, root, jsonb_build_object('review', opened.id, 'reviewers', opened.rule));
  if not exists (select from told_kinds where kind = 'review.opened') then return; end if;
  begin
    insert into notices (key, kind, execution_id)
      values ('review.opened:' || opened.id, 'review.opened', root) on conflict do nothing;
  exception when others then
    raise warning 'the notice review.opened of review % was not written: %', opened.id, sqlerrm;
  end;
end $$;

-- Access and its review are committed together or not at all, so no error is caught here, except one of the notice.
CREATE FUNCTION open_review() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  perform open_review_of(new.execution_id, new.user_id, new.expires_at);
  return null;
end $$;
CREATE TRIGGER grants_of_emergencies_are_reviewed AFTER UPDATE OF "activated_at" ON "grants" FOR EACH ROW
  WHEN (old.activated_at is null and new.activated_at is not null) EXECUTE FUNCTION open_review();

-- On the record of a failure or a revocation, which a review that cannot be written must not prevent.
CREATE FUNCTION open_unseen_review() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  perform open_review_of(unseen.execution_id, unseen.user_id, null) from (
    select distinct g.execution_id, g.user_id from grants g join executions e on e.id = g.execution_id
      where g.entitlement_id = new.id and g.activated_at is null and g.gone_at is null
        and g.created_at <= old.last_grant_call_at and e.input #> '{break_glass,review}' is not null
        and not exists (select from reviews r where r.execution_id = g.execution_id)) unseen;
  return null;
exception when others then
  raise warning 'reviews of entitlement % were not opened: %', new.id, sqlerrm;
  return null;
end $$;
CREATE TRIGGER entitlements_of_emergencies_are_reviewed AFTER UPDATE OF "state", "failures", "last_grant_call_at" ON "entitlements" FOR EACH ROW
  WHEN (old.state = 'granting' and old.last_grant_call_at is not null
    and (new.state = 'revoking' or new.failures > old.failures or new.last_grant_call_at > old.last_grant_call_at))
  EXECUTE FUNCTION open_unseen_review();

CREATE FUNCTION keep_reviews() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  if tg_op = 'UPDATE' and old.closed_at is null then return null; end if;
  -- The foreign key deletes reviews with their request, which is gone by then.
  if tg_op = 'DELETE' and old.closed_at is not null and not exists (select from public.executions where id = old.execution_id) then
    return null;
  end if;
  raise exception 'a review is closed once, and kept';
end $$;

-- After the change, so that a constraint that it breaks as well is the one that is named.
CREATE TRIGGER reviews_are_kept AFTER UPDATE OR DELETE ON "reviews" FOR EACH ROW EXECUTE FUNCTION keep_reviews();

-- Returns what is known of former addresses, with those that are lost now. Of an address that was lost twice the last time counts.
CREATE FUNCTION with_former_addresses(known jsonb, lost jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
  select coalesce((select jsonb_agg(one) from jsonb_array_elements(known) one where not lost ? (one ->> 'address')), '[]')
    || coalesce((select jsonb_agg(jsonb_build_object('address', address, 'until', app_now())) from jsonb_array_elements_text(lost) address), '[]')
$$;

-- What a colleague requested for an address is found when its person is stopped, also when they have another address by then. As triggers,
-- so that every statement that changes an address keeps the one before.
CREATE FUNCTION keep_former_address() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  new.former := with_former_addresses(old.former, jsonb_build_array(old.email_folded));
  return new;
end $$;
CREATE TRIGGER user_identities_keep_former_address BEFORE UPDATE OF "email_folded" ON "user_identities" FOR EACH ROW
  WHEN (old.email_folded is not null and old.email_folded is distinct from new.email_folded)
  EXECUTE FUNCTION keep_former_address();

CREATE FUNCTION keep_former_addresses() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  new.former := with_former_addresses(old.former,
    coalesce((select jsonb_agg(address) from jsonb_array_elements_text(old.addresses) address where not new.addresses ? address), '[]'));
  return new;
end $$;
CREATE TRIGGER provisioned_users_keep_former_addresses BEFORE UPDATE OF "addresses" ON "provisioned_users" FOR EACH ROW
  WHEN (old.addresses is distinct from new.addresses)
  EXECUTE FUNCTION keep_former_addresses();
