-- What Belay needs on a MySQL 8 server, run as an administrator. Experimental: written from MySQL's documentation, and not tested.

create database belay;
create table belay.target (id char(36) not null primary key);
insert into belay.target select uuid();
-- The mark that Belay renews while access is held, by which it tells the server from a copy.
create table belay.mark (account varchar(255) not null primary key, mark varchar(200) not null);

create sql security definer view belay.accounts as
  select u.User as user, u.Host as host,
    exists (select 1 from mysql.role_edges e where e.FROM_USER = u.User and e.FROM_HOST = u.Host) as is_role,
    (u.Select_priv = 'Y') * 1 | (u.Process_priv = 'Y') * 256 | (u.Show_db_priv = 'Y') * 16384
      | (u.Create_tmp_table_priv = 'Y') * 65536 | (u.Lock_tables_priv = 'Y') * 131072 | (u.Execute_priv = 'Y') * 262144
      | (u.Show_view_priv = 'Y') * 4194304
      -- Every other privilege on the whole server counts alike.
      | ('Y' in (u.Insert_priv, u.Update_priv, u.Delete_priv, u.Create_priv, u.Drop_priv, u.Reload_priv, u.Shutdown_priv, u.File_priv,
          u.Grant_priv, u.References_priv, u.Index_priv, u.Alter_priv, u.Super_priv, u.Repl_slave_priv, u.Repl_client_priv,
          u.Create_view_priv, u.Create_routine_priv, u.Alter_routine_priv, u.Create_user_priv, u.Event_priv, u.Trigger_priv,
          u.Create_tablespace_priv, u.Create_role_priv, u.Drop_role_priv)
        or exists (select 1 from mysql.global_grants g where g.USER = u.User and g.HOST = u.Host)) * 32768 as privileges,
    ifnull(unix_timestamp(u.password_last_changed), 0) as since
  from mysql.user u;

-- A role is a member of another one under an empty host, as on MariaDB.
create sql security definer view belay.memberships as
  select e.FROM_USER as role, e.TO_USER as user,
    if(exists (select 1 from mysql.role_edges r where r.FROM_USER = e.TO_USER and r.FROM_HOST = e.TO_HOST), '', e.TO_HOST) as host,
    e.WITH_ADMIN_OPTION = 'Y' as admin
  from mysql.role_edges e where e.FROM_HOST = '%';

-- In MySQL no routine runs as a role.
create view belay.routines as select '' as db, '' as name, '' as definer from dual where 1 = 0;

create user belay@'%' identified by 'change-me';
grant select on belay.* to belay@'%';
grant insert, update on belay.mark to belay@'%';
grant select on mysql.db to belay@'%';
grant select on mysql.tables_priv to belay@'%';
grant select on mysql.columns_priv to belay@'%';
grant select on mysql.procs_priv to belay@'%';
grant select on mysql.proxies_priv to belay@'%';
grant process, show view on *.* to belay@'%';
grant connection_admin on *.* to belay@'%';
grant references on `belay:%`.* to belay@'%' with grant option;

-- grant app_read to belay@'%' with admin option;
