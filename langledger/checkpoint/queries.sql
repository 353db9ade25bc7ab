-- name: record
SELECT generation, seqs
FROM {schema}.record_checkpoint(
    %(tenant)s, %(thread_key)s, %(thread_id)s, %(generation)s::bigint, %(wait)s, %(scope)s,
    %(kinds)s::text[], %(digests)b::bytea[], %(message_ids)s::text[], %(roles)s::text[],
    %(bodies)b::bytea[],
    %(checkpoint_ns)s, %(checkpoint_id)s::bytea, %(parent_id)s::bytea, %(created_at)s::timestamptz,
    %(run_id)s, %(snapshots)s::text[], %(layout)s::bigint, %(refs)s::int8multirange,
    %(body)s::bytea, %(writes)s::bytea)

-- name: read
SELECT *
FROM {schema}.read_checkpoints(
    %(tenant)s, %(thread_key)s, %(generation)s::bigint, %(have)s::int8multirange,
    %(layouts)s::bigint[], %(nss)s::text[], %(ids)b::bytea[], %(channels)s::text[],
    %(checkpoint_ns)s::text, %(before)s::bytea, %(after_id)s::bytea, %(after_ns)s::text,
    %(limit)s::int)

-- name: head
-- What a child of this checkpoint may inherit.
SELECT t.generation, c.layout AS number, c.body, l.body AS layout_body
FROM {schema}.thread t
LEFT JOIN {schema}.checkpoint c
  ON c.tenant = t.tenant AND c.thread_key = t.thread_key AND c.part = 0
 AND c.checkpoint_ns = %(checkpoint_ns)s AND c.checkpoint_id = %(checkpoint_id)s
LEFT JOIN {schema}.checkpoint_layout l ON l.tenant = c.tenant AND l.layout = c.layout
WHERE t.tenant = %(tenant)s AND t.thread_key = %(thread_key)s

-- name: add_layout
INSERT INTO {schema}.checkpoint_layout (tenant, layout, body)
VALUES (%(tenant)s, %(layout)s, %(body)s)
ON CONFLICT (tenant, layout) DO UPDATE SET layout = excluded.layout
RETURNING body

-- name: scan
-- Keys and bodies of checkpoints, newest first, without what they refer to.
SELECT t.thread_id, c.thread_key, c.checkpoint_ns AS name, c.checkpoint_id AS id,
       c.layout AS number, c.body, l.body AS layout_body
FROM {schema}.checkpoint c
JOIN {schema}.thread t ON t.tenant = c.tenant AND t.thread_key = c.thread_key
LEFT JOIN {schema}.checkpoint_layout l
  ON l.tenant = c.tenant AND l.layout = c.layout AND l.layout <> ALL(%(layouts)s::bigint[])
WHERE c.tenant = %(tenant)s AND c.part = 0 AND c.body IS NOT NULL AND NOT c.hidden
  AND (%(thread_key)s::uuid IS NULL OR c.thread_key = %(thread_key)s)
  AND (%(checkpoint_ns)s::text IS NULL OR c.checkpoint_ns = %(checkpoint_ns)s)
  AND (%(checkpoint_id)s::bytea IS NULL OR c.checkpoint_id = %(checkpoint_id)s)
  AND (%(run_id)s::text IS NULL OR c.run_id = %(run_id)s)
  AND (%(before)s::bytea IS NULL OR c.checkpoint_id < %(before)s)
  AND (%(after_id)s::bytea IS NULL
       OR (c.checkpoint_id, c.checkpoint_ns, c.thread_key)
          < (%(after_id)s::bytea, %(after_ns)s::text, %(after_key)s::uuid))
ORDER BY c.checkpoint_id DESC, c.checkpoint_ns DESC, c.thread_key DESC
LIMIT %(limit)s

-- name: lock
-- Writers of the thread wait until this transaction ends, and then start over.
UPDATE {schema}.thread SET generation = generation + 1
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s

-- name: drop
-- Overflow parts go with their checkpoint.
DELETE FROM {schema}.checkpoint c
USING unnest(%(nss)s::text[], %(ids)b::bytea[]) AS d (checkpoint_ns, checkpoint_id)
WHERE c.tenant = %(tenant)s AND c.thread_key = %(thread_key)s
  AND c.checkpoint_ns = d.checkpoint_ns AND c.checkpoint_id = d.checkpoint_id

-- name: hide
UPDATE {schema}.checkpoint c SET hidden = true
FROM unnest(%(nss)s::text[], %(ids)b::bytea[]) AS d (checkpoint_ns, checkpoint_id)
WHERE c.tenant = %(tenant)s AND c.thread_key = %(thread_key)s AND NOT c.hidden
  AND c.checkpoint_ns = d.checkpoint_ns AND c.checkpoint_id = d.checkpoint_id

-- name: orphan
-- A checkpoint whose parent was dropped has none.
UPDATE {schema}.checkpoint c SET parent_id = NULL
FROM unnest(%(nss)s::text[], %(ids)b::bytea[]) AS d (checkpoint_ns, checkpoint_id)
WHERE c.tenant = %(tenant)s AND c.thread_key = %(thread_key)s
  AND c.checkpoint_ns = d.checkpoint_ns AND c.parent_id = d.checkpoint_id

-- name: collect
-- Removes entries of these kinds that no checkpoint of the thread refers to.
WITH used AS (
    SELECT range_agg(r.r) AS seqs
    FROM {schema}.checkpoint c, unnest(c.refs) AS r (r)
    WHERE c.tenant = %(tenant)s AND c.thread_key = %(thread_key)s
), gone AS (
    DELETE FROM {schema}.entry e
    WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = ANY(%(kinds)s::text[])
      AND NOT coalesce(e.seq <@ (SELECT seqs FROM used), false)
    RETURNING 1
)
SELECT count(*) AS n FROM gone

-- name: drop_some
-- The thread's checkpoints, a bounded number at a time.
WITH picked AS (
    SELECT checkpoint_ns, checkpoint_id, part FROM {schema}.checkpoint
    WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
    LIMIT %(limit)s
), gone AS (
    DELETE FROM {schema}.checkpoint c USING picked
    WHERE c.tenant = %(tenant)s AND c.thread_key = %(thread_key)s
      AND c.checkpoint_ns = picked.checkpoint_ns AND c.checkpoint_id = picked.checkpoint_id
      AND c.part = picked.part
    RETURNING 1
)
SELECT count(*) AS n FROM gone

-- name: drop_rest
DELETE FROM {schema}.checkpoint WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s

-- name: drop_entries
DELETE FROM {schema}.entry WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s

-- name: drop_compactions
DELETE FROM {schema}.compaction WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s

-- name: drop_thread
DELETE FROM {schema}.thread WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s

-- name: retained
-- Every checkpoint of a thread, hidden ones too, and whether it is among the newest of its
-- namespace or young enough.
SELECT c.checkpoint_ns AS name, c.checkpoint_id AS id, c.parent_id, c.hidden, c.snapshots,
       c.layout AS number, l.body AS layout_body,
       CASE WHEN c.checkpoint_ns LIKE '%%:%%' THEN c.body END AS body,
       NOT c.hidden AND (
           c.place <= %(keep)s OR c.created_at >= coalesce(%(since)s::timestamptz, 'infinity')
           OR NOT coalesce(c.checkpoint_ns = %(checkpoint_ns)s::text, true)
       ) AS kept
FROM (
    SELECT *, row_number() OVER (PARTITION BY checkpoint_ns, hidden ORDER BY checkpoint_id DESC) AS place
    FROM {schema}.checkpoint
    WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND part = 0 AND body IS NOT NULL
) AS c
LEFT JOIN {schema}.checkpoint_layout l
  ON l.tenant = c.tenant AND l.layout = c.layout AND l.layout <> ALL(%(layouts)s::bigint[])
ORDER BY c.checkpoint_id

-- name: runs
SELECT t.thread_id, c.checkpoint_ns AS name, c.checkpoint_id AS id
FROM {schema}.checkpoint c
JOIN {schema}.thread t ON t.tenant = c.tenant AND t.thread_key = c.thread_key
WHERE c.tenant = %(tenant)s AND c.run_id = ANY(%(run_ids)s::text[])
ORDER BY t.thread_id, c.checkpoint_id

-- name: copy
-- Everything of a thread, unless the target is there already.
WITH made AS (
    INSERT INTO {schema}.thread (tenant, thread_key, thread_id, next_seq, user_id, metadata)
    SELECT tenant, %(target_key)s, %(target_id)s, next_seq, user_id, metadata
    FROM {schema}.thread WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
    ON CONFLICT (tenant, thread_key) DO NOTHING
    RETURNING thread_key
), entries AS (
    INSERT INTO {schema}.entry (tenant, thread_key, seq, digest, occurrence, tokens, created_at, kind,
                                role, message_id, task_id, user_id, scope, metadata, body)
    SELECT e.tenant, made.thread_key, seq, digest, occurrence, tokens, created_at, kind, role,
           message_id, task_id, user_id, scope, metadata, body
    FROM {schema}.entry e, made
    WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s
), compactions AS (
    INSERT INTO {schema}.compaction (tenant, thread_key, scope, generation, covered, masked, boundary,
                                     view, report, created_at)
    SELECT c.tenant, made.thread_key, scope, generation, covered, masked, boundary, view, report,
           created_at
    FROM {schema}.compaction c, made
    WHERE c.tenant = %(tenant)s AND c.thread_key = %(thread_key)s
), checkpoints AS (
    INSERT INTO {schema}.checkpoint (created_at, layout, part, hidden, tenant, thread_key,
                                     checkpoint_ns, checkpoint_id, parent_id, run_id, snapshots,
                                     refs, body, writes)
    SELECT created_at, layout, part, hidden, c.tenant, made.thread_key, checkpoint_ns,
           checkpoint_id, parent_id, run_id, snapshots, refs, body, writes
    FROM {schema}.checkpoint c, made
    WHERE c.tenant = %(tenant)s AND c.thread_key = %(thread_key)s
)
SELECT EXISTS (SELECT FROM made) AS made,
       EXISTS (SELECT FROM {schema}.thread
               WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s) AS found

-- name: idle_threads
SELECT thread_id FROM {schema}.thread
WHERE tenant = %(tenant)s AND updated_at < %(before)s::timestamptz AND thread_id > %(after)s
ORDER BY thread_id
LIMIT %(limit)s

-- name: secrets
SELECT kind, sealed FROM {schema}.checkpoint_secret
WHERE tenant = %(tenant)s ORDER BY created_at, secret_id

-- name: add_secret
INSERT INTO {schema}.checkpoint_secret (tenant, secret_id, kind, sealed)
VALUES (%(tenant)s, %(secret_id)s, %(kind)s, %(sealed)s)
