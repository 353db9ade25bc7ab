-- name: latest
-- The compactions of a thread that the caller does not know yet, newest first.
SELECT generation, covered, masked, boundary, view
FROM {schema}.compaction
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s
  AND generation > %(known)s
ORDER BY generation DESC
LIMIT %(limit)s OFFSET %(offset)s

-- name: latest_before
-- The newest compaction that knew no entry after this one; null: the newest.
SELECT generation, covered, masked, boundary, view
FROM {schema}.compaction
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s
  AND seen <= coalesce(%(at)s::bigint, 9223372036854775807)
ORDER BY generation DESC
LIMIT 1

-- name: newest
-- The newest compaction of each scope.
SELECT DISTINCT ON (scope) scope, generation, covered, masked, boundary, view, report
FROM {schema}.compaction
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
ORDER BY scope, generation DESC

-- name: commit
-- Inserts nothing where another writer already built on the same generation.
INSERT INTO {schema}.compaction
    (tenant, thread_key, scope, generation, covered, masked, boundary, seen, view, report)
VALUES (%(tenant)s, %(thread_key)s, %(scope)s, %(generation)s, %(covered)s, %(masked)s, %(boundary)s,
        %(seen)s, %(view)s, %(report)s)
ON CONFLICT DO NOTHING
RETURNING generation

-- name: reports
SELECT scope, generation, report, created_at
FROM {schema}.compaction
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
ORDER BY scope, generation

-- name: views
SELECT scope, generation, covered, masked, boundary, view, report, created_at
FROM {schema}.compaction
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
ORDER BY scope, generation

-- name: amend
UPDATE {schema}.compaction SET report = report || %(found)s
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s
  AND generation = %(generation)s

-- name: cached_summary
SELECT summary FROM {schema}.summary_cache WHERE tenant = %(tenant)s AND digest = %(digest)s

-- name: cache_summary
INSERT INTO {schema}.summary_cache (tenant, digest, summary)
VALUES (%(tenant)s, %(digest)s, %(summary)s)
ON CONFLICT (tenant, digest) DO NOTHING

-- name: news
-- The compactions that the caller does not know yet, newest first, then a row without generation
-- where somebody asked for one, and one with what the caller shows of recalled texts and is forgotten.
(SELECT generation, covered, masked, boundary, view, NULL::bigint[] AS forgotten
 FROM {schema}.compaction
 WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s
   AND generation > %(known)s
 ORDER BY generation DESC
 LIMIT 1)
UNION ALL
(SELECT NULL, NULL, NULL, NULL, NULL, NULL
 FROM {schema}.compaction_request
 WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s)
UNION ALL
(SELECT NULL, NULL, NULL, NULL, NULL, array_agg(s.seq)
 FROM unnest(%(brought)s::bigint[], %(brought_seen)s::bigint[]) AS s (seq, seen)
 WHERE NOT EXISTS (SELECT FROM {schema}.brought b
                   WHERE b.tenant = %(tenant)s AND b.thread_key = %(thread_key)s
                     AND b.scope = %(scope)s AND b.seq = s.seq AND b.seen = s.seen)
 HAVING count(*) > 0)

-- name: ask
-- Nothing for an agent that recorded nothing in this thread: no call of it would answer.
INSERT INTO {schema}.compaction_request (tenant, thread_key, scope)
SELECT %(tenant)s, %(thread_key)s, %(scope)s
WHERE EXISTS (SELECT FROM {schema}.entry e
              WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'
                AND coalesce(e.scope, '') = %(scope)s)
   OR EXISTS (SELECT FROM {schema}.compaction c
              WHERE c.tenant = %(tenant)s AND c.thread_key = %(thread_key)s AND c.scope = %(scope)s)
ON CONFLICT (tenant, thread_key, scope) DO UPDATE SET scope = excluded.scope
RETURNING scope

-- name: agents
-- The agents that recorded something in a thread.
SELECT DISTINCT coalesce(scope, '') AS scope FROM {schema}.entry
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND kind = 'message'
ORDER BY scope

-- name: answered
DELETE FROM {schema}.compaction_request
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s

-- name: drafts
SELECT place, decided, view, report FROM {schema}.compaction_draft
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s AND task = %(task)s
ORDER BY place

-- name: draft
-- Keeps a compaction for review; what nobody answered in a month is not waited for any more.
WITH old AS (
    DELETE FROM {schema}.compaction_draft
    WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s
      AND created_at < now() - interval '30 days'
)
INSERT INTO {schema}.compaction_draft (tenant, thread_key, scope, task, place, view, report)
VALUES (%(tenant)s, %(thread_key)s, %(scope)s, %(task)s, %(place)s, %(view)s, %(report)s)
ON CONFLICT (tenant, thread_key, scope, task, place)
DO UPDATE SET view = excluded.view, report = excluded.report

-- name: decided
UPDATE {schema}.compaction_draft SET decided = true, view = NULL, report = report || %(said)s
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s
  AND task = %(task)s AND place = %(place)s

-- name: pin
-- Nothing for a thread that does not exist. The thread's row is held, so that numbers are given once.
WITH held AS (
    SELECT tenant, thread_key FROM {schema}.thread
    WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
    FOR UPDATE
)
INSERT INTO {schema}.pin (tenant, thread_key, pin_id, seq, digest, priority, said_by, text)
SELECT %(tenant)s, %(thread_key)s,
       (SELECT coalesce(max(p.pin_id), 0) + 1 FROM {schema}.pin p
        WHERE p.tenant = %(tenant)s AND p.thread_key = %(thread_key)s),
       %(seq)s, %(digest)s, %(priority)s, %(said_by)s, %(text)s
FROM held h
ON CONFLICT (tenant, thread_key, digest) DO UPDATE SET priority = excluded.priority
RETURNING pin_id, seq, digest, priority, said_by, text, created_at

-- name: unpin
DELETE FROM {schema}.pin
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND pin_id = %(pin_id)s
RETURNING pin_id

-- name: pins
SELECT pin_id, seq, digest, priority, said_by, text, created_at
FROM {schema}.pin
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
ORDER BY pin_id

-- name: seq_of
-- The newest entry of a message id.
SELECT seq FROM {schema}.entry
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND message_id = %(message_id)s
  AND kind = 'message'
ORDER BY seq DESC
LIMIT 1

-- name: brought
SELECT DISTINCT ON (seq) seq, seen, body FROM {schema}.brought
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s
  AND %(history)s::int8multirange @> seen
ORDER BY seq, seen DESC

-- name: bring
INSERT INTO {schema}.brought (tenant, thread_key, scope, seq, seen, body)
VALUES (%(tenant)s, %(thread_key)s, %(scope)s, %(seq)s, %(seen)s, %(body)s)
ON CONFLICT (tenant, thread_key, scope, seq, seen) DO UPDATE SET body = excluded.body

-- name: cut_for
-- The compaction that the call which this entry answered was made with; null: the next call.
SELECT generation, covered, masked, boundary, view
FROM {schema}.compaction
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s
  AND seen < coalesce(%(answer)s::bigint, 9223372036854775807)
  AND created_at <= coalesce((SELECT e.created_at FROM {schema}.entry e
                              WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s
                                AND e.seq = %(answer)s::bigint), 'infinity')
ORDER BY generation DESC
LIMIT 1

-- name: in_view
-- The entries that a view after a compaction is made of, newest first.
SELECT e.seq, e.tokens, e.created_at, e.role, e.message_id, e.task_id, e.user_id, e.scope, e.metadata, e.digest, e.body
FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'
  AND coalesce(e.scope, '') = %(scope)s
  AND e.seq < coalesce(%(answer)s::bigint, 9223372036854775807)
  AND (e.seq > %(seen)s OR e.role = 'system'
       OR e.seq <@ (%(history)s::int8multirange - %(covered)s::int8multirange))
ORDER BY e.seq DESC
LIMIT %(limit)s
