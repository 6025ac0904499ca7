DELETE FROM "device_logins";--> statement-breakpoint
ALTER TABLE "device_logins" DROP CONSTRAINT "device_login_has_its_person";--> statement-breakpoint
ALTER TABLE "device_logins" DROP CONSTRAINT "device_logins_user_id_users_id_fk";
--> statement-breakpoint
ALTER TABLE "device_logins" DROP COLUMN "user_id";--> statement-breakpoint
ALTER TABLE "device_logins" DROP COLUMN "sealed";--> statement-breakpoint
ALTER TABLE "device_logins" ADD COLUMN "login_id" uuid;--> statement-breakpoint
ALTER TABLE "device_logins" ADD CONSTRAINT "device_logins_login_id_logins_id_fk" FOREIGN KEY ("login_id") REFERENCES "public"."logins"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "device_logins_login_idx" ON "device_logins" USING btree ("login_id");--> statement-breakpoint
ALTER TABLE "device_logins" ADD CONSTRAINT "device_login_has_its_person" CHECK ("device_logins"."status" <> 'approved' or "device_logins"."login_id" is not null);
