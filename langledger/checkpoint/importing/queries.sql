-- What is read of PostgresSaver's tables, and what is noted beside the threads that came from there.
-- The names in braces without a table behind them are put in by source.py.

-- name: columns
SELECT attname AS name FROM pg_attribute
WHERE attrelid = to_regclass(%(table)s) AND attnum > 0 AND NOT attisdropped

-- name: count
SELECT count(*) AS n FROM {checkpoints}
WHERE %(threads)s::text[] IS NULL OR thread_id = ANY(%(threads)s::text[])

-- name: unknown
SELECT w.thread_id FROM unnest(%(threads)s::text[]) AS w (thread_id)
WHERE NOT EXISTS (SELECT FROM {checkpoints} c WHERE c.thread_id = w.thread_id)

-- name: next_thread
-- One step along the primary key: DISTINCT would read the whole table first.
SELECT thread_id FROM {checkpoints}
WHERE %(after)s::text IS NULL OR thread_id > %(after)s::text
ORDER BY thread_id LIMIT 1

-- name: fingerprint
-- Changes when checkpoints or writes are added, or special writes replaced.
SELECT md5(concat(
    (SELECT string_agg(concat_ws('/', checkpoint_ns, checkpoint_id), ','
                       ORDER BY checkpoint_ns, checkpoint_id)
     FROM {checkpoints} WHERE thread_id = %(thread_id)s), ';',
    (SELECT string_agg(concat_ws('/', checkpoint_ns, checkpoint_id, task_id, idx,
                                 CASE WHEN idx < 0 THEN md5(blob) END), ','
                       ORDER BY checkpoint_ns, checkpoint_id, task_id, idx)
     FROM {writes} WHERE thread_id = %(thread_id)s))) AS fingerprint

-- name: keys
SELECT checkpoint_ns, checkpoint_id FROM {checkpoints} WHERE thread_id = %(thread_id)s

-- name: checkpoints
-- In the order in which they were made, whatever the namespace; parents come before their children.
SELECT c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint, c.metadata,
       p.checkpoint -> 'channel_versions' AS parent_versions
FROM {checkpoints} c
LEFT JOIN {checkpoints} p
       ON p.thread_id = c.thread_id AND p.checkpoint_ns = c.checkpoint_ns
      AND p.checkpoint_id = c.parent_checkpoint_id
      AND p.checkpoint_id COLLATE "C" < c.checkpoint_id COLLATE "C"
WHERE c.thread_id = %(thread_id)s
ORDER BY c.checkpoint_id COLLATE "C", c.checkpoint_ns COLLATE "C"

-- name: values
-- Of one checkpoint: channel values that are not held yet, its writes, and where it is older than
-- version 4 the tasks that its parent sent.
SELECT 'value' AS what, b.channel, b.type, b.blob, NULL AS task_id, NULL AS task_path, 0 AS idx
FROM {blobs} b
JOIN unnest(%(channels)s::text[], %(versions)s::text[]) AS w (channel, version)
  ON w.channel = b.channel AND w.version = b.version
WHERE b.thread_id = %(thread_id)s AND b.checkpoint_ns = %(checkpoint_ns)s
UNION ALL
SELECT 'write', channel, type, blob, task_id, {task_path}, idx
FROM {writes}
WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(checkpoint_ns)s
  AND checkpoint_id = %(checkpoint_id)s
UNION ALL
SELECT 'send', channel, type, blob, task_id, {task_path}, idx
FROM {writes}
WHERE thread_id = %(thread_id)s AND checkpoint_id = %(sent_on)s::text
  AND channel = '__pregel_tasks'

-- name: which_tables
-- Which one it is, whatever the address; the cluster itself not every role may ask for.
SELECT d.oid AS database, to_regclass(%(table)s)::oid AS relation,
       has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE') AS may_ask
FROM pg_database d WHERE d.datname = current_database()

-- name: cluster
SELECT system_identifier FROM pg_control_system()

-- name: mark
SELECT metadata -> 'import' ->> 'source' AS source, metadata -> 'import' ->> 'newest' AS newest,
       metadata -> 'import' ->> 'fingerprint' AS fingerprint,
       coalesce((metadata -> 'import' ->> 'gone')::boolean, false) AS gone
FROM {schema}.thread WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s

-- name: imported
-- Threads that came from a source, some at a time.
SELECT thread_id, metadata -> 'import' ->> 'newest' AS newest
FROM {schema}.thread
WHERE tenant = %(tenant)s AND metadata -> 'import' ->> 'source' = %(source)s
  AND thread_id > %(after)s
ORDER BY thread_id LIMIT %(limit)s

-- name: ready
-- Makes the thread, where it is not there.
INSERT INTO {schema}.thread (tenant, thread_key, thread_id)
VALUES (%(tenant)s, %(thread_key)s, %(thread_id)s)
ON CONFLICT (tenant, thread_key) DO NOTHING

-- name: claim
-- Takes the thread, unless it has checkpoints that did not come from an import.
UPDATE {schema}.thread AS t
SET metadata = jsonb_set(t.metadata, ARRAY['import'],
        coalesce(t.metadata -> 'import', '{}') - 'fingerprint'
        || jsonb_build_object('source', %(source)s::text, 'newest', %(newest)s::text))
WHERE t.tenant = %(tenant)s AND t.thread_key = %(thread_key)s
  AND (t.metadata -> 'import' ? 'source'
       OR NOT EXISTS (SELECT FROM {schema}.checkpoint c
                      WHERE c.tenant = %(tenant)s AND c.thread_key = %(thread_key)s))
RETURNING t.thread_id

-- name: date
-- Entries are as old as the checkpoint they came with.
UPDATE {schema}.entry e SET created_at = w.made
FROM unnest(%(seqs)s::bigint[], %(times)s::timestamptz[]) AS w (seq, made)
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.seq = w.seq
  AND e.created_at > w.made

-- name: complete
UPDATE {schema}.thread
SET metadata = jsonb_set(metadata, ARRAY['import'], (metadata -> 'import')
        || jsonb_build_object('fingerprint', %(fingerprint)s::text, 'gone', %(gone)s::boolean)),
    created_at = least(created_at, %(first)s::timestamptz),
    updated_at = coalesce(%(last)s::timestamptz, updated_at)
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
