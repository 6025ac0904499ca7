COMMENT ON TABLE catalogs IS 'One immutable, versioned snapshot of roles, providers and workflows per row; the newest is in force.';--> statement-breakpoint
COMMENT ON TABLE users IS 'A person, as a provider knows them.';--> statement-breakpoint
COMMENT ON TABLE logins IS 'Proofs of who is calling; only the hash of the secret is kept.';--> statement-breakpoint
COMMENT ON TABLE oauth_flows IS 'Logins on their way to a provider and back; consumed once.';--> statement-breakpoint
COMMENT ON TABLE login_codes IS 'One-time codes that a program exchanges for its login.';--> statement-breakpoint
COMMENT ON TABLE executions IS 'Runs of workflows: definition, input and continuation.';--> statement-breakpoint
COMMENT ON TABLE steps IS 'What an execution waits for: a call, a timer or an event; resolved exactly once.';--> statement-breakpoint
COMMENT ON TABLE signals IS 'CloudEvents delivered to an execution, once per source and id.';--> statement-breakpoint
COMMENT ON TABLE idempotency_keys IS 'Idempotency-Key: the same key and body give the same execution for 24 hours.';--> statement-breakpoint
COMMENT ON TABLE entitlements IS 'What a provider may hold on our account: this identity, this access, there. A row exists before the provider is touched (R1).';--> statement-breakpoint
COMMENT ON TABLE grants IS 'Time-bounded claims on entitlements. Wanted is computed from these rows and stored nowhere (R3).';--> statement-breakpoint
COMMENT ON TABLE approvals IS 'Questions put to approvers: what exactly, who may answer, by when.';--> statement-breakpoint
COMMENT ON TABLE decisions IS 'Answers of approvers, bound to the digest of what they saw.';--> statement-breakpoint
COMMENT ON TABLE ledger IS 'Append-only account of what happened: history, logs and audit trail are filters on it.';
