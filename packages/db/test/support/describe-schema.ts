import type postgres from 'postgres';

/** Everything of Belay's schema, without what `migrateDatabase` makes itself: the tables of migrations and of turns. */
const ours = `relnamespace = 'public'::regnamespace and relname !~ '^(migrations|turn_)'`;

/** One line for each thing, below the thing that it belongs to, in an order that does not depend on the server. */
const lines = `
  select place, line from (
    select array['1 extension', extname] as place, format('extension %s', extname) as line
      from pg_extension where extname <> 'plpgsql'
    union all select array['2 type', typname], format('type %s (%s): %s', typname, typtype, coalesce(
        (select string_agg(enumlabel, ', ' order by enumsortorder) from pg_enum where enumtypid = pg_type.oid),
        format_type(typbasetype, typtypmod)))
      from pg_type where typnamespace = 'public'::regnamespace and typtype in ('e', 'd', 'r')
    union all select array['3 function', oid::regprocedure::text],
        pg_get_functiondef(oid) || coalesce(E'\\n' || 'privileges ' || array_to_string(proacl, ' '), '')
          || coalesce(E'\\n' || 'comment ' || obj_description(oid, 'pg_proc'), '') || E'\\n'
      from pg_proc where pronamespace = 'public'::regnamespace
        and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')
    union all select array['4 relation', relname], concat_ws(' ',
        case relkind when 'r' then 'table' when 'S' then 'sequence' when 'v' then 'view' else 'relation of kind ' || relkind::text end,
        relname,
        case relpersistence when 'p' then null else 'persistence ' || relpersistence::text end,
        'with ' || array_to_string(reloptions, ', '),
        'with toast.' || array_to_string((select toast.reloptions from pg_class toast where toast.oid = c.reltoastrelid), ', toast.'),
        case when relkind = 'r' and relreplident <> 'd' then 'replica identity ' || relreplident::text end,
        case when relrowsecurity then 'row security' end,
        case when relispartition then 'partition of ' || (select inhparent::regclass::text from pg_inherits where inhrelid = c.oid) end,
        'privileges ' || array_to_string(relacl, ' '),
        case when relkind in ('v', 'm') then pg_get_viewdef(oid) end,
        (select format('of %s from %s to %s, start %s, increment %s, cache %s, cycle %s', format_type(seqtypid, null), seqmin, seqmax,
            seqstart, seqincrement, seqcache, seqcycle) from pg_sequence where seqrelid = c.oid),
        (select format('owned by %s.%s', refobjid::regclass, attname) from pg_depend
          join pg_attribute on attrelid = refobjid and attnum = refobjsubid
          where relkind = 'S' and classid = 'pg_class'::regclass and objid = c.oid and deptype in ('a', 'i')))
      from pg_class c where relkind not in ('i', 'I', 't', 'c') and ${ours}
    union all select array['4 relation', relname, '0 comment'], '  comment ' || description
      from pg_description join pg_class on pg_class.oid = objoid
      where classoid = 'pg_class'::regclass and objsubid = 0 and relkind not in ('i', 'I') and ${ours}
    union all select array['4 relation', relname, '1 column', to_char(place, '0000')], concat_ws(' ', '  column', attname, type,
        case when attcollation <> 0 and attcollation <> typcollation then 'collate ' || attcollation::regcollation::text end,
        case when attnotnull then 'not null' end,
        case when attgenerated <> '' then 'generated' end,
        'default ' || pg_get_expr(adbin, adrelid),
        case attidentity when 'a' then 'identity always' when 'd' then 'identity by default' end,
        case when attstorage <> typstorage then 'storage ' || attstorage::text end,
        case when attcompression <> '' then 'compression ' || attcompression::text end,
        'statistics ' || nullif(attstattarget, -1),
        'with ' || array_to_string(attoptions, ', '),
        'privileges ' || array_to_string(attacl, ' '),
        'comment ' || col_description(attrelid, attnum))
      from (
        select *, row_number() over (partition by attrelid order by attnum) as place, format_type(atttypid, atttypmod) as type
        from pg_attribute where attnum > 0 and not attisdropped) a
      join pg_class c on c.oid = attrelid join pg_type on pg_type.oid = atttypid left join pg_attrdef on adrelid = attrelid and adnum = attnum
      where relkind not in ('i', 'I', 't', 'c', 'S') and ${ours}
    union all select array['4 relation', relname, '2 constraint', conname], format('  constraint %s %s%s', conname,
        pg_get_constraintdef(k.oid), ' comment ' || obj_description(k.oid, 'pg_constraint'))
      from pg_constraint k join pg_class on pg_class.oid = conrelid
      -- PostgreSQL 18 also has a constraint for each column that is not null; constraint triggers are with the triggers.
      where contype not in ('n', 't') and ${ours}
    union all select array['4 relation', relname, '3 index', i.indexrelid::regclass::text], concat_ws(' ', '  index', pg_get_indexdef(indexrelid),
        case when not indisvalid then 'invalid' end, case when indisclustered then 'clustered' end,
        case when indisreplident then 'replica identity' end, 'comment ' || obj_description(indexrelid, 'pg_class'))
      from pg_index i join pg_class on pg_class.oid = indrelid where ${ours}
    union all select array['4 relation', relname, '4 statistics', stxname], concat_ws(' ', '  ' || pg_get_statisticsobjdef(s.oid),
        'target ' || nullif(stxstattarget, -1))
      from pg_statistic_ext s join pg_class on pg_class.oid = stxrelid where ${ours}
    union all select array['4 relation', relname, '5 trigger', tgname], concat_ws(' ', '  ' || pg_get_triggerdef(t.oid),
        case when tgenabled <> 'O' then 'enabled ' || tgenabled::text end, 'comment ' || obj_description(t.oid, 'pg_trigger'))
      from pg_trigger t join pg_class on pg_class.oid = tgrelid where (not tgisinternal or tgenabled <> 'O') and ${ours}
    union all select array['4 relation', relname, '6 rule', rulename], '  ' || pg_get_ruledef(r.oid)
      from pg_rewrite r join pg_class on pg_class.oid = ev_class where rulename <> '_RETURN' and ${ours}
    union all select array['4 relation', tablename::text, '7 policy', policyname], format('  policy %s %s %s to %s using %s check %s',
        policyname, permissive, cmd, roles, qual, with_check)
      from pg_policies where schemaname = 'public'
    union all select array['5 event trigger', evtname], format('event trigger %s on %s', evtname, evtevent) from pg_event_trigger
    union all select array['6 default privileges', d.oid::text], format('default privileges %s', array_to_string(defaclacl, ' '))
      from pg_default_acl d
    union all select array['7 schema', nspname], format('schema %s', nspname) from pg_namespace
      where nspname !~ '^pg_' and nspname <> 'information_schema'
  ) described order by place collate "C"`;

/**
 * Returns the schema of a database as text, and the rows that are in it: functions with their bodies; tables with their columns in
 * order, constraints, indexes, statistics, triggers, comments, storage parameters and privileges; sequences; and anything else that a
 * migration could make. PostgreSQL 15 to 18 return the same text.
 */
export async function describeSchema(sql: postgres.Sql): Promise<string> {
  const described = await sql.unsafe<{ place: string[]; line: string }[]>(lines);
  const rows = await Promise.all(
    described
      .filter(({ place, line }) => place.length === 2 && line.startsWith('table '))
      .map(({ place: [, table = ''] }) => describeRows(sql, table)),
  );
  return `${[...described.map(({ line }) => line), ...rows.flat()].join('\n')}\n`;
}

/** Returns the rows of a table, without the values of columns whose default is another one each time. */
async function describeRows(sql: postgres.Sql, table: string): Promise<string[]> {
  const rows = await sql.unsafe<{ row: string }[]>(`
    select (to_jsonb(the_row) - array(
      select attname::text from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum
      where adrelid = '${table}'::regclass and pg_get_expr(adbin, adrelid) ~ '\\('))::text as row
    from ${table} the_row order by 1`);
  return rows.map(({ row }) => `row of ${table} ${row}`);
}
