ALTER TABLE "grants" ADD COLUMN "known_as" jsonb;--> statement-breakpoint
ALTER TABLE "approvals" ADD COLUMN "known_as" jsonb;--> statement-breakpoint
ALTER TABLE "user_identities" ADD COLUMN "former" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "provisioned_users" ADD COLUMN "former" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
-- Returns what is known of former addresses, with those that are lost now. Of an address that was lost twice the last time counts.
CREATE FUNCTION with_former_addresses(known jsonb, lost jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
  select coalesce((select jsonb_agg(one) from jsonb_array_elements(known) one where not lost ? (one ->> 'address')), '[]')
    || coalesce((select jsonb_agg(jsonb_build_object('address', address, 'until', app_now())) from jsonb_array_elements_text(lost) address), '[]')
$$;--> statement-breakpoint
-- What a colleague requested for an address is found when its person is stopped, also when they have another address by then. As triggers, because
-- a server of an older version changes addresses as well in a rolling upgrade.
CREATE FUNCTION keep_former_address() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  new.former := with_former_addresses(old.former, jsonb_build_array(old.email_folded));
  return new;
end $$;--> statement-breakpoint
CREATE TRIGGER user_identities_keep_former_address BEFORE UPDATE OF "email_folded" ON "user_identities" FOR EACH ROW
  WHEN (old.email_folded is not null and old.email_folded is distinct from new.email_folded)
  EXECUTE FUNCTION keep_former_address();--> statement-breakpoint
CREATE FUNCTION keep_former_addresses() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  new.former := with_former_addresses(old.former,
    coalesce((select jsonb_agg(address) from jsonb_array_elements_text(old.addresses) address where not new.addresses ? address), '[]'));
  return new;
end $$;--> statement-breakpoint
CREATE TRIGGER provisioned_users_keep_former_addresses BEFORE UPDATE OF "addresses" ON "provisioned_users" FOR EACH ROW
  WHEN (old.addresses is distinct from new.addresses)
  EXECUTE FUNCTION keep_former_addresses();
