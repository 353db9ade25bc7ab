-- name: record
SELECT generation, seqs
FROM {schema}.record_checkpoint(
    %(tenant)s, %(thread_key)s, %(thread_id)s, %(generation)s::bigint, %(wait)s, %(scope)s,
    %(kinds)s::text[], %(digests)b::bytea[], %(message_ids)s::text[], %(roles)s::text[],
    %(bodies)b::bytea[], %(item_refs)s::int8multirange[], %(checkpoint_ns)s, %(checkpoint_id)s::bytea, %(run_id)s,
    %(snapshots)s::text[], %(refs)s::int8multirange, %(record)s::bytea, %(after)s::bigint)

-- name: record_many
-- Calls of different callers, in one transaction. None waits for a thread that somebody else holds:
-- generation is null then.
SELECT r.place, c.generation, c.seqs
FROM json_to_recordset(%(calls)s::json)
     AS r (place integer, tenant text, thread_key uuid, thread_id text, generation bigint, scope text,
           kinds text[], digests bytea[], message_ids text[], roles text[], bodies bytea[],
           item_refs int8multirange[], checkpoint_ns text, checkpoint_id bytea, run_id text, snapshots text[],
           refs int8multirange, record bytea, after bigint)
CROSS JOIN LATERAL {schema}.record_checkpoint(
    r.tenant, r.thread_key, r.thread_id, r.generation, false, r.scope, r.kinds, r.digests,
    r.message_ids, r.roles, r.bodies, r.item_refs, r.checkpoint_ns, r.checkpoint_id, r.run_id, r.snapshots,
    r.refs, r.record, r.after) AS c

-- name: read
SELECT what, number, name, id, last_id, body, message_id
FROM {schema}.read_checkpoints(
    %(tenant)s, %(thread_key)s, %(generation)s::bigint, %(have)s::int8multirange,
    %(nss)s::text[], %(ids)b::bytea[], %(checkpoint_ns)s::text, %(before)s::bytea, %(limit)s::int,
    %(channels)s::text[])

-- name: layouts
SELECT layout, body FROM {schema}.checkpoint_layout
WHERE tenant = %(tenant)s AND layout = ANY(%(layouts)s::int[])

-- name: add_layout
-- Nothing is added if it is there, or if another took the number this moment.
INSERT INTO {schema}.checkpoint_layout (tenant, layout, digest, body)
SELECT %(tenant)s, coalesce(max(layout), 0) + 1, %(digest)s, %(body)s::bytea
FROM {schema}.checkpoint_layout WHERE tenant = %(tenant)s
HAVING NOT coalesce(bool_or(digest = %(digest)s), false)
ON CONFLICT DO NOTHING

-- name: layout
SELECT layout FROM {schema}.checkpoint_layout WHERE tenant = %(tenant)s AND digest = %(digest)s

-- name: secrets
SELECT kind, sealed FROM {schema}.checkpoint_secret
WHERE tenant = %(tenant)s ORDER BY created_at, secret_id

-- name: add_secret
INSERT INTO {schema}.checkpoint_secret (tenant, secret_id, kind, sealed)
VALUES (%(tenant)s, %(secret_id)s, %(kind)s, %(sealed)s)

-- name: scan
-- Logs of a thread in order of namespace and id, some at a time.
SELECT checkpoint_ns AS name, first_id AS id, part, log AS body
FROM {schema}.checkpoint
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
  AND (%(checkpoint_ns)s::text IS NULL OR checkpoint_ns = %(checkpoint_ns)s)
  AND (%(run_id)s::text IS NULL OR run_ids @> ARRAY[%(run_id)s::text])
  AND (checkpoint_ns, first_id, part) > (%(after_ns)s::text, %(after_id)s::bytea, %(after_part)s::int)
ORDER BY checkpoint_ns, first_id, part
LIMIT %(limit)s

-- name: threads
-- Threads that were written to last come first.
SELECT t.thread_id, t.thread_key, t.updated_at
FROM {schema}.thread t
WHERE t.tenant = %(tenant)s
  AND (%(updated_at)s::timestamptz IS NULL
       OR (t.updated_at, t.thread_key) < (%(updated_at)s::timestamptz, %(thread_key)s::uuid))
  AND (%(run_ids)s::text[] IS NULL
       OR t.thread_key IN (SELECT c.thread_key FROM {schema}.checkpoint c
                           WHERE c.tenant = %(tenant)s AND c.run_ids && %(run_ids)s::text[]))
ORDER BY t.updated_at DESC, t.thread_key DESC
LIMIT %(limit)s

-- name: idle_threads
SELECT thread_id FROM {schema}.thread
WHERE tenant = %(tenant)s AND updated_at < %(before)s::timestamptz AND thread_id > %(after)s
ORDER BY thread_id
LIMIT %(limit)s

-- name: lock
-- Writers of the thread wait until this transaction ends, and then start over.
UPDATE {schema}.thread SET generation = generation + 1
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s

-- name: drop_stretches
-- Those that are still as they were read; returns them.
WITH wanted AS (
    SELECT w.checkpoint_ns, w.first_id
    FROM unnest(%(nss)s::text[], %(ids)b::bytea[], %(sizes)s::bigint[])
         AS w (checkpoint_ns, first_id, size)
    WHERE w.size = (SELECT sum(octet_length(c.log)) FROM {schema}.checkpoint c
                    WHERE c.tenant = %(tenant)s AND c.thread_key = %(thread_key)s
                      AND c.checkpoint_ns = w.checkpoint_ns AND c.first_id = w.first_id)
), gone AS (
    DELETE FROM {schema}.checkpoint c USING wanted w
    WHERE c.tenant = %(tenant)s AND c.thread_key = %(thread_key)s
      AND c.checkpoint_ns = w.checkpoint_ns AND c.first_id = w.first_id
)
SELECT checkpoint_ns AS name, first_id AS id FROM wanted

-- name: rewrite_stretch
-- Unless it changed since it was read; returns it. Its parts become one, which has what all had.
WITH parts AS (
    SELECT last_id, run_ids, snapshots, log FROM {schema}.checkpoint
    WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
      AND checkpoint_ns = %(checkpoint_ns)s AND first_id = %(first_id)s
), whole AS (
    SELECT sum(octet_length(log)) = %(size)s::bigint AS same,
           (array_agg(last_id ORDER BY last_id DESC))[1] AS last_id
    FROM parts
), gone AS (
    DELETE FROM {schema}.checkpoint
    WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
      AND checkpoint_ns = %(checkpoint_ns)s AND first_id = %(first_id)s AND part > 0
      AND (SELECT same FROM whole)
)
UPDATE {schema}.checkpoint
SET log = %(log)s::bytea, refs = %(refs)s::int8multirange,
    last_id = (SELECT last_id FROM whole),
    snapshots = nullif(ARRAY(SELECT DISTINCT s FROM parts, unnest(parts.snapshots) AS u (s)), '{}'),
    run_ids = nullif(ARRAY(SELECT DISTINCT r FROM parts, unnest(parts.run_ids) AS u (r)
                           WHERE r <> ALL(%(run_ids)s::text[])), '{}')
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
  AND checkpoint_ns = %(checkpoint_ns)s AND first_id = %(first_id)s AND part = 0
  AND (SELECT same FROM whole)
RETURNING checkpoint_ns AS name, first_id AS id

-- name: drop_some
-- The thread's checkpoints, a bounded number at a time.
WITH picked AS (
    SELECT checkpoint_ns, first_id, part FROM {schema}.checkpoint
    WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
    LIMIT %(limit)s
), gone AS (
    DELETE FROM {schema}.checkpoint c USING picked
    WHERE c.tenant = %(tenant)s AND c.thread_key = %(thread_key)s
      AND c.checkpoint_ns = picked.checkpoint_ns AND c.first_id = picked.first_id
      AND c.part = picked.part
    RETURNING 1
)
SELECT count(*) AS n FROM gone

-- name: collect
SELECT {schema}.collect_entries(%(tenant)s, %(thread_key)s, %(kinds)s::text[]) AS n

-- name: drop_thread
-- And with it all that is the thread's.
DELETE FROM {schema}.thread WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s

-- name: copy
-- Everything of a thread, unless the target is there already.
WITH made AS (
    INSERT INTO {schema}.thread (tenant, thread_key, thread_id, next_seq, next_value, user_id, metadata)
    SELECT tenant, %(target_key)s, %(target_id)s, next_seq, next_value, user_id, metadata
    FROM {schema}.thread WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
    ON CONFLICT (tenant, thread_key) DO NOTHING
    RETURNING thread_key
), entries AS (
    INSERT INTO {schema}.entry (tenant, thread_key, seq, digest, occurrence, tokens, created_at, kind,
                                role, message_id, task_id, user_id, scope, metadata, refs, body)
    SELECT e.tenant, made.thread_key, seq, digest, occurrence, tokens, created_at, kind, role,
           message_id, task_id, user_id, scope, metadata, refs, body
    FROM {schema}.entry e, made
    WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s
    RETURNING 1
), compactions AS (
    INSERT INTO {schema}.compaction (tenant, thread_key, scope, generation, covered, masked, boundary,
                                     seen, view, report, created_at)
    SELECT c.tenant, made.thread_key, scope, generation, covered, masked, boundary, seen, view,
           report, created_at
    FROM {schema}.compaction c, made
    WHERE c.tenant = %(tenant)s AND c.thread_key = %(thread_key)s
    RETURNING 1
), checkpoints AS (
    INSERT INTO {schema}.checkpoint (part, tenant, thread_key, checkpoint_ns, first_id, last_id, refs,
                                     snapshots, run_ids, log)
    SELECT part, c.tenant, made.thread_key, checkpoint_ns, first_id, last_id, refs, snapshots,
           run_ids, log
    FROM {schema}.checkpoint c, made
    WHERE c.tenant = %(tenant)s AND c.thread_key = %(thread_key)s
    RETURNING 1
)
SELECT EXISTS (SELECT 1 FROM made) AS made,
       EXISTS (SELECT 1 FROM {schema}.thread
               WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s) AS found

-- name: copied_thread
-- Nobody writes to the thread until all of it is read.
SELECT next_seq, next_value, user_id, metadata FROM {schema}.thread
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
FOR SHARE

-- name: copied_entries
SELECT seq, digest, occurrence, tokens, created_at, kind, role, message_id, task_id, user_id, scope,
       metadata, refs::text AS refs, body
FROM {schema}.entry WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s

-- name: copied_compactions
SELECT scope, generation, covered::text AS covered, masked::text AS masked, boundary, seen, view, report,
       created_at
FROM {schema}.compaction WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s

-- name: copied_checkpoints
SELECT part, checkpoint_ns AS name, first_id, last_id, refs::text AS refs, snapshots::text AS snapshots,
       run_ids::text AS run_ids, log AS body
FROM {schema}.checkpoint WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s

-- name: copy_row
INSERT INTO {schema}.thread (tenant, thread_key, thread_id, next_seq, next_value, user_id, metadata)
VALUES (%(tenant)s, %(thread_key)s, %(thread_id)s, %(next_seq)s, %(next_value)s, %(user_id)s, %(metadata)s)

-- name: copy_entries
-- RETURNING, here and below: Citus would use COPY, which row-level security does not allow.
INSERT INTO {schema}.entry (tenant, thread_key, seq, digest, occurrence, tokens, created_at, kind, role,
                            message_id, task_id, user_id, scope, metadata, refs, body)
SELECT %(tenant)s, %(thread_key)s, e.seq, e.digest, e.occurrence, e.tokens, e.created_at, e.kind, e.role,
       e.message_id, e.task_id, e.user_id, e.scope, e.metadata, e.refs::int8multirange, e.body
FROM unnest(%(seq)s::bigint[], %(digest)s::bytea[], %(occurrence)s::integer[], %(tokens)s::integer[],
            %(created_at)s::timestamptz[], %(kind)s::text[], %(role)s::text[], %(message_id)s::text[],
            %(task_id)s::text[], %(user_id)s::text[], %(scope)s::text[], %(metadata)s::jsonb[],
            %(refs)s::text[], %(body)s::bytea[])
     AS e (seq, digest, occurrence, tokens, created_at, kind, role, message_id, task_id, user_id, scope,
           metadata, refs, body)
RETURNING seq

-- name: copy_compactions
INSERT INTO {schema}.compaction (tenant, thread_key, scope, generation, covered, masked, boundary, seen,
                                 view, report, created_at)
SELECT %(tenant)s, %(thread_key)s, c.scope, c.generation, c.covered::int8multirange,
       c.masked::int8multirange, c.boundary, c.seen, c.view, c.report, c.created_at
FROM unnest(%(scope)s::text[], %(generation)s::integer[], %(covered)s::text[], %(masked)s::text[],
            %(boundary)s::bigint[], %(seen)s::bigint[], %(view)s::bytea[], %(report)s::jsonb[],
            %(created_at)s::timestamptz[])
     AS c (scope, generation, covered, masked, boundary, seen, view, report, created_at)
RETURNING generation

-- name: copy_checkpoints
INSERT INTO {schema}.checkpoint (part, tenant, thread_key, checkpoint_ns, first_id, last_id, refs,
                                 snapshots, run_ids, log)
SELECT c.part, %(tenant)s, %(thread_key)s, c.name, c.first_id, c.last_id, c.refs::int8multirange,
       c.snapshots::text[], c.run_ids::text[], c.log
FROM unnest(%(part)s::integer[], %(name)s::text[], %(first_id)s::bytea[], %(last_id)s::bytea[],
            %(refs)s::text[], %(snapshots)s::text[], %(run_ids)s::text[], %(log)s::bytea[])
     AS c (part, name, first_id, last_id, refs, snapshots, run_ids, log)
RETURNING part
