-- name: lock_thread
-- Creates the thread if need be and holds its row: writers of one thread take turns, and the
-- statement that follows sees everything the writer before committed.
INSERT INTO {schema}.thread (tenant, thread_key, thread_id, user_id, metadata)
VALUES (%(tenant)s, %(thread_key)s, %(thread_id)s, %(user_id)s, %(about)s)
ON CONFLICT (tenant, thread_key) DO UPDATE
    SET updated_at = excluded.updated_at, user_id = coalesce(thread.user_id, excluded.user_id),
        metadata = thread.metadata || excluded.metadata

-- name: append
-- Returns the seq of each message given, in order; only those not there yet are inserted.
SELECT seq, fresh
FROM {schema}.append_entries(
    %(tenant)s, %(thread_key)s, %(scope)s, %(task_id)s, %(user_id)s,
    array_fill('message'::text, ARRAY[cardinality(%(digests)s::bytea[])]),
    %(digests)s::bytea[], %(places)s::int[], %(message_ids)s::text[], %(roles)s::text[],
    %(tokens)s::int[], %(metadata)s::jsonb[], %(bodies)s::bytea[], NULL, NULL)

-- name: known
-- Which of these contents the thread already holds, with their size where it is told now; asked
-- before many or large bodies are sent.
SELECT g.ord::int AS ord, e.seq
FROM unnest(%(digests)s::bytea[], %(places)s::int[], %(message_ids)s::text[], %(tokens)s::int[])
     WITH ORDINALITY AS g (digest, place, message_id, tokens, ord)
JOIN {schema}.entry e
  ON e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s
 AND e.digest = g.digest AND e.kind = 'message' AND (e.tokens IS NOT NULL OR g.tokens IS NULL)
 AND CASE WHEN g.place IS NULL THEN e.message_id = g.message_id ELSE e.occurrence = g.place END

-- name: history
SELECT e.seq, e.tokens, e.created_at, e.role, e.message_id, e.task_id, e.user_id, e.scope, e.metadata, e.digest, e.body
FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'
  AND e.seq > %(after)s AND e.seq <= coalesce(%(until)s::bigint, 9223372036854775807)
ORDER BY e.seq
LIMIT %(limit)s

-- name: entries_by_seq
SELECT e.seq, e.tokens, e.created_at, e.role, e.message_id, e.task_id, e.user_id, e.scope, e.metadata, e.digest, e.body
FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'
  AND e.seq = ANY(%(seqs)s::bigint[])
ORDER BY e.seq

-- name: entry_by_message
-- The latest, where a message was recorded again with other content.
SELECT max(e.seq) AS seq FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'
  AND e.message_id = %(message_id)s
HAVING count(*) > 0

-- name: message_ids
SELECT DISTINCT e.message_id
FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s
  AND e.seq = ANY(%(seqs)s::bigint[]) AND e.message_id IS NOT NULL

-- name: count
SELECT count(*) AS n FROM {schema}.entry
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND kind = 'message'

-- name: is_there
SELECT count(*) > 0 AS thread,
       EXISTS (SELECT FROM {schema}.entry e
               WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s
                 AND e.kind = 'sealed') AS sealed
FROM {schema}.thread t WHERE t.tenant = %(tenant)s AND t.thread_key = %(thread_key)s

-- name: about
SELECT metadata FROM {schema}.thread WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s

-- name: threads
SELECT t.thread_id, t.user_id, t.created_at, t.updated_at,
       (SELECT count(*) FROM {schema}.entry e
        WHERE e.tenant = %(tenant)s AND e.thread_key = t.thread_key AND e.kind = 'message') AS entries,
       (SELECT count(*) FROM {schema}.compaction c
        WHERE c.tenant = %(tenant)s AND c.thread_key = t.thread_key) AS compactions
FROM {schema}.thread t
WHERE t.tenant = %(tenant)s
ORDER BY t.updated_at DESC, t.thread_id
LIMIT %(limit)s OFFSET %(offset)s

-- name: witness
-- Changes whenever something is recorded in a thread, or deleted.
SELECT t.generation, t.next_seq, t.updated_at FROM {schema}.thread t
WHERE t.tenant = %(tenant)s AND t.thread_key = %(thread_key)s

-- name: witness_of_all
-- The same of all of the tenant's threads together.
SELECT count(*) AS threads, sum(t.generation) AS generations,
       sum(extract(epoch FROM t.updated_at)) AS updated
FROM {schema}.thread t WHERE t.tenant = %(tenant)s
HAVING count(*) > 0

-- name: knows_none
-- Whether an agent has messages in a thread, and none of these.
SELECT EXISTS (SELECT FROM {schema}.entry e
               WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s
                 AND e.kind = 'message' AND e.scope IS NOT DISTINCT FROM %(scope)s::text)
   AND NOT EXISTS (SELECT FROM {schema}.entry e
                   WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s
                     AND e.message_id = ANY (%(message_ids)s::text[])) AS knows_none
