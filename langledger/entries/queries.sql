-- name: lock_thread
-- Creates the thread if need be and holds its row: writers of one thread take turns, and the
-- statement that follows sees everything the writer before committed.
INSERT INTO {schema}.thread (tenant, thread_key, thread_id, user_id)
VALUES (%(tenant)s, %(thread_key)s, %(thread_id)s, %(user_id)s)
ON CONFLICT (tenant, thread_key) DO UPDATE
    SET updated_at = now(), user_id = coalesce(thread.user_id, excluded.user_id)

-- name: append
-- Returns the seq of each message given, in order; only those not there yet are inserted.
WITH given AS (
    SELECT g.*,
           CASE WHEN g.at_end
                THEN g.nth + coalesce((SELECT max(e.occurrence) + 1 FROM {schema}.entry e
                                       WHERE e.tenant = %(tenant)s
                                         AND e.thread_key = %(thread_key)s
                                         AND e.digest = g.digest), 0)
                ELSE g.nth
           END AS occurrence
    FROM unnest(%(digests)s::bytea[], %(nths)s::int[], %(at_ends)s::bool[], %(tokens)s::int[],
                %(roles)s::text[], %(message_ids)s::text[], %(bodies)s::bytea[], %(metadata)s::jsonb[])
         WITH ORDINALITY
         AS g (digest, nth, at_end, tokens, role, message_id, body, metadata, ord)
), located AS (
    SELECT given.*, e.seq
    FROM given LEFT JOIN {schema}.entry e
      ON e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s
     AND e.digest = given.digest AND e.occurrence = given.occurrence
), fresh AS (
    SELECT located.*, row_number() OVER (ORDER BY ord) AS n FROM located WHERE seq IS NULL
), counter AS (
    UPDATE {schema}.thread
    SET next_seq = next_seq + (SELECT count(*) FROM fresh)
    WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
    RETURNING next_seq - (SELECT count(*) FROM fresh) AS base
), inserted AS (
    INSERT INTO {schema}.entry (tenant, thread_key, seq, digest, occurrence, tokens, role, message_id,
                                task_id, user_id, scope, metadata, body)
    SELECT %(tenant)s, %(thread_key)s, counter.base + n - 1, digest, occurrence, tokens, role,
           message_id, %(task_id)s, %(user_id)s, %(scope)s, metadata, body
    FROM fresh, counter
)
SELECT coalesce(located.seq, counter.base + fresh.n - 1) AS seq, located.seq IS NULL AS fresh
FROM located CROSS JOIN counter LEFT JOIN fresh USING (ord)
ORDER BY ord

-- name: known
-- Which of these contents the thread already holds; asked before many or large bodies are sent.
SELECT g.ord::int AS ord, e.seq
FROM unnest(%(digests)s::bytea[], %(nths)s::int[]) WITH ORDINALITY AS g (digest, nth, ord)
JOIN {schema}.entry e
  ON e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s
 AND e.digest = g.digest AND e.occurrence = g.nth

-- name: history
SELECT e.seq, e.tokens, e.created_at, e.role, e.message_id, e.task_id, e.user_id, e.scope, e.metadata, e.body
FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'
  AND e.seq > %(after)s AND e.seq <= coalesce(%(until)s::bigint, 9223372036854775807)
ORDER BY e.seq
LIMIT %(limit)s

-- name: entries_by_seq
SELECT e.seq, e.tokens, e.created_at, e.role, e.message_id, e.task_id, e.user_id, e.scope, e.metadata, e.body
FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'
  AND e.seq = ANY(%(seqs)s::bigint[])
ORDER BY e.seq

-- name: count
SELECT count(*) AS n FROM {schema}.entry
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND kind = 'message'

-- name: threads
SELECT t.thread_id, t.user_id, t.created_at, t.updated_at,
       (SELECT count(*) FROM {schema}.entry e
        WHERE e.tenant = t.tenant AND e.thread_key = t.thread_key AND e.kind = 'message') AS entries,
       (SELECT count(*) FROM {schema}.compaction c
        WHERE c.tenant = t.tenant AND c.thread_key = t.thread_key) AS compactions
FROM {schema}.thread t
WHERE t.tenant = %(tenant)s
ORDER BY t.updated_at DESC, t.thread_id
LIMIT %(limit)s OFFSET %(offset)s
