-- Returns how many requests a person made in the last hour.
CREATE FUNCTION recent_requests(person uuid) RETURNS integer LANGUAGE sql STABLE AS '
  select count(*)::integer from executions where owner_id = person and created_at > app_now() - interval ''1 hour''';--> statement-breakpoint
DROP FUNCTION admit_request(uuid, uuid);--> statement-breakpoint
CREATE FUNCTION admit_request(person uuid, login uuid, OUT live boolean, OUT open integer, OUT recent integer) LANGUAGE plpgsql VOLATILE AS '
begin
  perform from users where id = person for no key update;
  live := exists (select from logins where id = login and expires_at > app_now());
  open := open_requests(person);
  recent := recent_requests(person);
end';
