-- What Belay needs on a MariaDB server (10.6 and newer), run as an administrator. Change the password, and the roles at the end.

-- A schema for Belay: the server's identifier, and views of what Belay reads, without the hashes of passwords.
create database belay;
create table belay.target (id char(36) not null primary key);
insert into belay.target select uuid();
-- The mark that Belay renews while access is held, by which it tells the server from a copy.
create table belay.mark (account varchar(255) not null primary key, mark varchar(200) not null);

create definer = `mariadb.sys`@`localhost` sql security definer view belay.accounts as
  select User as user, Host as host,
    ifnull(json_value(Priv, '$.is_role'), 0) = 1 as is_role,
    cast(ifnull(json_value(Priv, '$.access'), 0) as unsigned) as privileges,
    cast(ifnull(json_value(Priv, '$.password_last_changed'), 0) as signed) as since
  from mysql.global_priv;

create sql security invoker view belay.memberships as
  select Role as role, User as user, Host as host, Admin_option = 'Y' as admin from mysql.roles_mapping;

create sql security invoker view belay.routines as select db, name, definer from mysql.proc;

create user belay@'%' identified by 'change-me';
grant select on belay.* to belay@'%';
grant insert, update on belay.mark to belay@'%';
grant select on mysql.roles_mapping to belay@'%';
grant select (db, name, definer) on mysql.proc to belay@'%';
grant select on mysql.db to belay@'%';
grant select on mysql.tables_priv to belay@'%';
grant select on mysql.columns_priv to belay@'%';
grant select on mysql.procs_priv to belay@'%';
grant select on mysql.proxies_priv to belay@'%';
-- To see connections and views of others, and to end connections.
grant process, show view, connection admin on *.* to belay@'%';
-- The marks of accounts: a privilege that nothing uses, on schemas that do not exist.
grant references on `belay:%`.* to belay@'%' with grant option;

-- Only these roles can be granted by Belay.
-- grant app_read to belay@'%' with admin option;
