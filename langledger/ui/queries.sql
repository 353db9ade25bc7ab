-- name: threads
-- By their last change, the newest first, from a place on; entries are counted by their numbers.
SELECT t.thread_key, t.thread_id, t.user_id, t.created_at, t.updated_at, t.next_seq - 1 AS entries,
       coalesce(t.metadata -> 'replay' ->> 'complete' = 'false', false) AS incomplete,
       (SELECT count(*) FROM {schema}.compaction c
        WHERE c.tenant = %(tenant)s AND c.thread_key = t.thread_key) AS compactions
FROM {schema}.thread t
WHERE t.tenant = %(tenant)s
  AND (%(search)s::text IS NULL OR t.thread_id ILIKE %(search)s)
  AND (%(before_at)s::timestamptz IS NULL
       OR (t.updated_at, t.thread_key) < (%(before_at)s::timestamptz, %(before_key)s::uuid))
ORDER BY t.updated_at DESC, t.thread_key DESC
LIMIT %(limit)s

-- name: thread
SELECT t.thread_key, t.thread_id, t.user_id, t.created_at, t.updated_at, t.next_seq - 1 AS entries,
       t.metadata,
       (SELECT count(*) FROM {schema}.compaction c
        WHERE c.tenant = %(tenant)s AND c.thread_key = t.thread_key) AS compactions
FROM {schema}.thread t
WHERE t.tenant = %(tenant)s AND t.thread_key = %(thread_key)s

-- name: scopes
-- The agents of a thread. Compactions alone would leave out those that had none.
SELECT DISTINCT coalesce(e.scope, '') AS scope FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'
ORDER BY scope

-- name: size
-- Tokens of the entries that were counted; of a thread in which none was, they are not known.
-- What was noted over MCP is recorded as a call too, but no model was called for it.
SELECT count(*) AS entries, count(*) - count(e.tokens) AS uncounted, sum(e.tokens) AS tokens,
       coalesce(sum(octet_length(e.body)), 0) AS bytes,
       count(*) FILTER (WHERE e.role = 'ai' AND coalesce(e.message_id, '') NOT LIKE 'mcp-%%') AS calls
FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'

-- name: pulse
-- What changes whenever a thread does.
SELECT concat_ws('.', t.next_seq, extract(epoch FROM t.updated_at),
                 (SELECT count(*) FROM {schema}.compaction c
                  WHERE c.tenant = %(tenant)s AND c.thread_key = t.thread_key),
                 (SELECT sum(h.events) FROM {schema}.state_head h
                  WHERE h.tenant = %(tenant)s AND h.thread_key = t.thread_key),
                 (SELECT max(p.pin_id) FROM {schema}.pin p
                  WHERE p.tenant = %(tenant)s AND p.thread_key = t.thread_key)) AS pulse
FROM {schema}.thread t
WHERE t.tenant = %(tenant)s AND t.thread_key = %(thread_key)s

-- name: pulse_of_all
SELECT concat_ws('.', count(*), extract(epoch FROM max(updated_at))) AS pulse
FROM {schema}.thread WHERE tenant = %(tenant)s

-- name: entries_after
SELECT e.seq, e.tokens, e.created_at, e.role, e.message_id, e.task_id, e.user_id, e.scope, e.metadata, e.digest, e.body
FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'
  AND e.seq > %(place)s AND (%(role)s::text IS NULL OR e.role = %(role)s)
ORDER BY e.seq
LIMIT %(limit)s

-- name: entries_before
SELECT e.seq, e.tokens, e.created_at, e.role, e.message_id, e.task_id, e.user_id, e.scope, e.metadata, e.digest, e.body
FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'
  AND e.seq < %(place)s AND (%(role)s::text IS NULL OR e.role = %(role)s)
ORDER BY e.seq DESC
LIMIT %(limit)s

-- name: calls_around
-- The answers next to an entry, and the last one.
SELECT max(e.seq) FILTER (WHERE e.seq < %(seq)s) AS before,
       min(e.seq) FILTER (WHERE e.seq > %(seq)s) AS after, max(e.seq) AS last
FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'
  AND e.role = 'ai' AND coalesce(e.message_id, '') NOT LIKE 'mcp-%%' AND coalesce(e.scope, '') = %(scope)s

-- name: entries_around
SELECT (SELECT max(e.seq) FROM {schema}.entry e
        WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'
          AND e.seq < %(seq)s) AS before,
       (SELECT min(e.seq) FROM {schema}.entry e
        WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'
          AND e.seq > %(seq)s) AS after

-- name: turns
-- The answers with the tokens before them by role, at most so many, evenly; what follows the last
-- is the row without a turn.
WITH counted AS (
    SELECT e.seq, a.answers, coalesce(e.tokens, 0) AS tokens, e.created_at,
           coalesce(sum(e.tokens) OVER before, 0) AS total,
           coalesce(sum(e.tokens) FILTER (WHERE e.role = 'tool') OVER before, 0) AS results,
           count(*) FILTER (WHERE a.answers) OVER (ORDER BY e.seq) AS turn,
           count(e.tokens) OVER () AS counted
    FROM {schema}.entry e
    CROSS JOIN LATERAL (SELECT e.role = 'ai' AND coalesce(e.message_id, '') NOT LIKE 'mcp-%%' AS answers) a
    WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'
      AND coalesce(e.scope, '') = %(scope)s
    WINDOW before AS (ORDER BY e.seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), calls AS (
    SELECT seq, tokens, created_at, total, results, turn, counted, count(*) OVER () AS calls
    FROM counted WHERE answers
)
SELECT seq, tokens, created_at, total::bigint AS total, results::bigint AS results, turn, counted, calls
FROM calls
WHERE turn %% greatest(1, ceil(calls / %(most)s::numeric)::bigint) = 0 OR turn = calls
ORDER BY seq

-- name: totals_between
-- The tokens of the entries before the first of these numbers (0), from it to the second (1), ...
SELECT width_bucket(e.seq, %(places)s::bigint[]) AS place, coalesce(sum(e.tokens), 0)::bigint AS total,
       coalesce(sum(e.tokens) FILTER (WHERE e.role = 'tool'), 0)::bigint AS results
FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'
  AND coalesce(e.scope, '') = %(scope)s AND cardinality(%(places)s::bigint[]) > 0
GROUP BY place
ORDER BY place

-- name: compactions
SELECT scope, generation, seen, report, created_at
FROM {schema}.compaction
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s
ORDER BY generation

-- name: cuts
SELECT generation, covered, masked, boundary, view, report, created_at
FROM {schema}.compaction
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s
  AND generation = ANY(%(generations)s::integer[])
ORDER BY generation

-- name: tags
SELECT g.tag, count(*) AS units
FROM {schema}.recall_unit u, unnest(u.tags) AS g (tag)
WHERE u.tenant = %(tenant)s AND u.space = %(thread_key)s
GROUP BY g.tag
ORDER BY units DESC, g.tag

-- name: unit_counts
SELECT count(*) AS units, count(r.ref) AS recalled,
       count(*) FILTER (WHERE cardinality(u.tags) = 0) AS untagged,
       count(*) FILTER (WHERE EXISTS (
           SELECT FROM {schema}.recall_vector v
           WHERE v.tenant = %(tenant)s AND v.space = u.space AND v.ref = u.ref AND v.part = u.part
             AND v.embedding IS NOT NULL)) AS embedded
FROM {schema}.recall_unit u
LEFT JOIN {schema}.recall_use r
  ON r.tenant = u.tenant AND r.space = u.space AND r.ref = u.ref AND r.part = u.part
WHERE u.tenant = %(tenant)s AND u.space = %(thread_key)s

-- name: units
-- Units of a thread from a place on, by tag and by whether a search ever gave them to anybody.
SELECT u.ref, u.part, u.role, u.created_at, u.tags, u.metadata, u.importance, u.body, r.times, r.last_at
FROM {schema}.recall_unit u
LEFT JOIN {schema}.recall_use r
  ON r.tenant = u.tenant AND r.space = u.space AND r.ref = u.ref AND r.part = u.part
WHERE u.tenant = %(tenant)s AND u.space = %(thread_key)s
  AND (u.ref, u.part) > (%(ref)s, %(part)s)
  AND (%(tag)s::text IS NULL OR u.tags @> ARRAY[%(tag)s::text])
  AND (NOT %(never)s OR r.ref IS NULL)
ORDER BY u.ref, u.part
LIMIT %(limit)s

-- name: units_of
-- What recall holds of one entry.
SELECT u.ref, u.part, u.role, u.created_at, u.tags, u.metadata, u.importance, u.body, r.times, r.last_at
FROM {schema}.recall_unit u
LEFT JOIN {schema}.recall_use r
  ON r.tenant = u.tenant AND r.space = u.space AND r.ref = u.ref AND r.part = u.part
WHERE u.tenant = %(tenant)s AND u.space = %(thread_key)s AND u.ref = %(ref)s
ORDER BY u.part

-- name: tables
-- A table in partitions is as large as these together.
SELECT c.relname AS name,
       coalesce(sum(p.reltuples) FILTER (WHERE p.relkind = 'r' AND p.reltuples >= 0), -1)::bigint AS rows,
       sum(pg_total_relation_size(p.oid))::bigint AS bytes
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_class p ON p.oid = c.oid OR p.oid IN (SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = c.oid)
WHERE n.oid = (SELECT relnamespace FROM pg_class WHERE oid = '{schema}.thread'::regclass)
  AND c.relkind IN ('r', 'p') AND c.relispartition IS FALSE
GROUP BY c.relname
ORDER BY bytes DESC
