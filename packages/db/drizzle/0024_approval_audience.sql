CREATE TABLE "approval_audience" (
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"approval_id" uuid NOT NULL,
	CONSTRAINT "approval_audience_pk" PRIMARY KEY("kind","name","approval_id")
);
--> statement-breakpoint
CREATE INDEX "approval_audience_approval_idx" ON "approval_audience" USING btree ("approval_id");--> statement-breakpoint
COMMENT ON TABLE approval_audience IS 'Whom an open approval asks: a row for each address and each group of its rule; kept by a trigger.';--> statement-breakpoint
-- A trigger, so that approvals of processes of the version before are in the inbox as well.
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
end $$;--> statement-breakpoint
CREATE TRIGGER approvals_open_to_audience AFTER INSERT ON "approvals" FOR EACH ROW
  WHEN (new.status = 'open') EXECUTE FUNCTION keep_approval_audience();--> statement-breakpoint
CREATE TRIGGER approvals_change_audience AFTER UPDATE OF "status" ON "approvals" FOR EACH ROW
  WHEN (new.status <> old.status) EXECUTE FUNCTION keep_approval_audience();--> statement-breakpoint
INSERT INTO approval_audience (kind, name, approval_id)
  SELECT 'user', name, id FROM approvals, jsonb_array_elements_text(rule -> 'users') name WHERE status = 'open'
  UNION SELECT 'group', name, id FROM approvals, jsonb_array_elements_text(rule -> 'groups') name WHERE status = 'open';
