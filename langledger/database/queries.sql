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
               AND NOT (has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'))
             ORDER BY 1) AS forbidden
