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
