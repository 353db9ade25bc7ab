-- name: hold
-- Held until the transaction ends, also by the death of the process; PgBouncer in transaction mode
-- keeps one connection for as long.
SELECT pg_try_advisory_xact_lock(%(key)s::bigint) AS held

-- name: keep_waiting
-- A replay may take hours, in which nothing is said on the connection that holds its name.
SELECT set_config(name, '0', true) FROM pg_settings
WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')

-- name: discard
-- Removes a thread that a replay did not finish.
DELETE FROM {schema}.thread
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
  AND metadata -> 'replay' -> 'complete' = 'false'::jsonb
RETURNING tenant

-- name: claim
INSERT INTO {schema}.thread (tenant, thread_key, thread_id, metadata)
VALUES (%(tenant)s, %(thread_key)s, %(thread_id)s, %(metadata)s::jsonb)
ON CONFLICT (tenant, thread_key) DO NOTHING
RETURNING tenant

-- name: complete
UPDATE {schema}.thread SET metadata = jsonb_set(metadata, '{replay,complete}', 'true')
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s

-- name: unfinished
SELECT thread_id FROM {schema}.thread
WHERE tenant = %(tenant)s AND metadata -> 'replay' -> 'complete' = 'false'::jsonb

-- name: imports
-- The files that were taken over to their end, with their size and time then.
SELECT metadata -> 'import' ->> 'file' AS file,
       (metadata -> 'import' ->> 'size')::bigint AS size,
       (metadata -> 'import' ->> 'mtime_ns')::bigint AS mtime_ns
FROM {schema}.thread
WHERE tenant = %(tenant)s AND metadata -> 'import' ? 'mtime_ns'

-- name: mark_import
UPDATE {schema}.thread
SET metadata = jsonb_set(metadata, '{import}', metadata -> 'import' || %(stamp)s::jsonb)
WHERE tenant = %(tenant)s AND thread_key = ANY(%(thread_keys)s::uuid[]) AND metadata ? 'import'
RETURNING thread_key
