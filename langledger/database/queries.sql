-- name: settings
SELECT name::text AS name, current_setting(name) AS value
FROM pg_settings WHERE name = ANY(%(names)s) ORDER BY name

-- name: extensions
SELECT name::text AS name, default_version AS available, installed_version AS installed
FROM pg_available_extensions WHERE name = ANY(%(names)s) ORDER BY name

-- name: situation
-- pg_stat_activity shows other roles' sessions without their text, so counting needs no privilege.
SELECT current_user::text AS role,
       current_database()::text AS database,
       pg_is_in_recovery() AS standby,
       pg_database_size(current_database()) AS bytes,
       s.sessions,
       -- Unlimited is -1, and a superuser is under no limit but the server's.
       least(current_setting('max_connections')::int - s.sessions,
             CASE WHEN r.rolconnlimit >= 0 AND NOT r.rolsuper THEN r.rolconnlimit - s.of_role END,
             CASE WHEN d.datconnlimit >= 0 AND NOT r.rolsuper THEN d.datconnlimit - s.of_database END) AS free
FROM pg_roles r, pg_database d,
     (SELECT count(*) AS sessions, count(*) FILTER (WHERE usename = current_user) AS of_role,
             count(*) FILTER (WHERE datname = current_database()) AS of_database
      FROM pg_stat_activity WHERE backend_type = 'client backend') s
WHERE r.rolname = current_user AND d.datname = current_database()

-- name: health
-- What goes wrong slowly: old transactions, indexes that a broken-off build left, rights revoked.
SELECT extract(epoch FROM clock_timestamp())::float8 AS clock,
       (SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()) AS age,
       ARRAY(SELECT c.relname::text FROM pg_index i
             JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = %(schema)s AND NOT i.indisvalid AND NOT EXISTS (
                 SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = i.indexrelid)
             ORDER BY 1) AS half_built,
       ARRAY(SELECT format('%%s (%%s)', c.relname, string_agg(r, ', ' ORDER BY r))
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS r
             WHERE n.nspname = %(schema)s AND c.relkind IN ('r', 'p') AND NOT c.relispartition
               AND NOT (has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, r))
               AND NOT (c.relname = 'migration' AND r <> 'SELECT')
               AND NOT (c.relname = 'forget_receipt' AND r IN ('UPDATE', 'DELETE'))
             GROUP BY c.relname
             UNION ALL
             SELECT format('%%s (EXECUTE)', p.proname) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
             WHERE n.nspname = %(schema)s AND p.prosecdef AND NOT has_function_privilege(p.oid, 'EXECUTE')
             ORDER BY 1) AS forbidden

-- name: objects
-- What of a schema is there and at work; triggers by their table. On Citus, which runs no triggers,
-- foreign keys do what they did.
SELECT c.relname::text AS name FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %(schema)s
UNION ALL
SELECT p.proname::text FROM pg_proc p
JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = %(schema)s
UNION ALL
SELECT format('%%s on %%s', t.tgname, c.relname) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')
UNION ALL
SELECT format('recall_forget on %%s', p.relname) FROM pg_constraint f
JOIN pg_class p ON p.oid = f.confrelid JOIN pg_class c ON c.oid = f.conrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND f.contype = 'f'
  AND (c.relname, p.relname) IN (('recall_unit', 'entry'), ('recall_space', 'thread'))

-- name: protection
-- Tables that are not under row-level security, or where more is let through than one policy lets;
-- where it was forced on one, those where it is not.
WITH ours AS (
    SELECT c.oid, c.relname, c.relrowsecurity, c.relforcerowsecurity,
           bool_or(c.relforcerowsecurity) OVER () AS forced
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
    WHERE n.nspname = %(schema)s AND c.relkind IN ('r', 'p')
)
SELECT r.rolsuper AS superuser, r.rolbypassrls AS bypasses,
       ARRAY(SELECT o.relname::text FROM ours o
             WHERE NOT o.relrowsecurity OR (o.forced AND NOT o.relforcerowsecurity)
                OR ARRAY['(tenant = current_setting(''langledger.tenant''::text)) for * to {0}'] <> ARRAY(
                       SELECT format('%%s for %%s to %%s', pg_get_expr(p.polqual, p.polrelid), p.polcmd, p.polroles)
                       FROM pg_policy p WHERE p.polrelid = o.oid AND p.polpermissive)
             ORDER BY 1) AS exposed
FROM pg_roles r WHERE r.rolname = current_user

-- name: place
-- How far the primary is, and by its own clock when; nothing of the first on a standby.
SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn()::text END AS lsn,
       clock_timestamp()::text AS clock

-- name: standing
-- Whether a standby has all up to a place of its primary, or up to an earlier one, and of when the
-- last is that it has.
SELECT pg_is_in_recovery() AS standby,
       coalesce(pg_last_wal_replay_lsn() >= %(lsn)s::pg_lsn, false) AS current,
       coalesce(pg_last_wal_replay_lsn() >= %(late)s::pg_lsn, false) AS passed,
       extract(epoch FROM %(clock)s::timestamptz - pg_last_xact_replay_timestamp())::float8 AS seconds

-- name: identity
-- What a server shares with its standbys alone.
SELECT CASE WHEN has_function_privilege('pg_control_system()', 'EXECUTE')
            THEN (SELECT system_identifier::text FROM pg_control_system()) END AS identity
