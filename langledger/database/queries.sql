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
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS sessions

-- name: health
-- What goes wrong slowly: old transactions, indexes that a broken-off build left, rights revoked.
SELECT extract(epoch FROM clock_timestamp())::float8 AS clock,
       (SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()) AS age,
       ARRAY(SELECT c.relname::text FROM pg_index i
             JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = %(schema)s AND NOT i.indisvalid AND NOT EXISTS (
                 SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = i.indexrelid)
             ORDER BY 1) AS half_built,
       ARRAY(SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = %(schema)s AND c.relkind IN ('r', 'p') AND c.relname <> 'migration'
               AND NOT c.relispartition
               AND NOT (has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'))
             ORDER BY 1) AS forbidden

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
