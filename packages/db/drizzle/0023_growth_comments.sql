COMMENT ON TABLE definitions IS 'Workflows as executions were started with them, once for each content; never changed, never deleted.';--> statement-breakpoint
COMMENT ON TABLE task_events IS 'What the tasks of an execution did: a row for each move, the first and the last thousand events; in order with the ledger by seq.';--> statement-breakpoint
COMMENT ON TABLE known_identities IS 'Who a person was at a provider when it was last asked.';
