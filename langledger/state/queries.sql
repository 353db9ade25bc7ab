-- name: add_event
-- Numbers and stores one event; sent again, it is there already.
WITH known AS (
    SELECT number FROM {schema}.state_event
    WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s
      AND event_id = %(event_id)s
), head AS (
    INSERT INTO {schema}.state_head (tenant, thread_key, scope, events)
    SELECT %(tenant)s, %(thread_key)s, %(scope)s, 1
    WHERE NOT EXISTS (SELECT FROM known)
    ON CONFLICT (tenant, thread_key, scope) DO UPDATE SET events = state_head.events + 1
    RETURNING events
)
INSERT INTO {schema}.state_event (tenant, thread_key, scope, number, event_id, at_seq, sources, body)
SELECT %(tenant)s, %(thread_key)s, %(scope)s, events, %(event_id)s, %(at_seq)s, %(sources)s::bigint[],
       %(body)s
FROM head
RETURNING number

-- name: events
-- The events that are not merged yet, in order.
SELECT number, event_id, at_seq, sources, body, created_at
FROM {schema}.state_event
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s
  AND at_seq <= coalesce(%(until)s::bigint, 9223372036854775807)
  AND number <> ALL(%(merged)s::bigint[])
ORDER BY number

-- name: ready
-- Makes the row that a claim is noted in, where there is a thread.
INSERT INTO {schema}.state_head (tenant, thread_key, scope)
SELECT tenant, thread_key, %(scope)s
FROM {schema}.thread WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
ON CONFLICT (tenant, thread_key, scope) DO NOTHING

-- name: claim
-- Takes the right to read on, where nobody else has it; returns from where.
UPDATE {schema}.state_head
SET claim = %(claim)s, claimed_till = statement_timestamp() + %(seconds)s * interval '1 second'
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s
  AND (claim IS NULL OR claimed_till < statement_timestamp() OR claim = %(claim)s)
RETURNING extracted, attempts

-- name: advance
-- Notes how far has been read, and gives the claim back; nothing for whoever lost it.
UPDATE {schema}.state_head
SET extracted = %(extracted)s, attempts = %(attempts)s, claim = NULL, claimed_till = NULL
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s
  AND claim = %(claim)s
RETURNING extracted

-- name: task_ids
SELECT seq, task_id FROM {schema}.entry
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND kind = 'message'
  AND task_id IS NOT NULL

-- name: times
SELECT seq, created_at FROM {schema}.entry
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND seq = ANY(%(seqs)s::bigint[])

-- name: withdraw
-- Takes back what one agent of one thread published and no longer has.
DELETE FROM {schema}.state_record r
WHERE r.tenant = %(tenant)s AND r.thread_key = %(thread_key)s AND r.scope = %(scope)s
  AND NOT EXISTS (SELECT FROM unnest(%(task_ids)s::text[], %(kinds)s::text[], %(record_ids)s::text[])
                      AS g (task_id, kind, record_id)
                  WHERE g.task_id = r.task_id AND g.kind = r.kind AND g.record_id = r.record_id)

-- name: publish
-- Puts what it has in place. A statement of its own: Citus hands an INSERT to the shard with all of
-- its WITH, where a DELETE in that would have to be distributed again.
INSERT INTO {schema}.state_record (tenant, thread_key, scope, project, task_id, kind, record_id, status,
                                   what, why, sources)
SELECT t.tenant, t.thread_key, %(scope)s, %(project)s, g.task_id, g.kind, g.record_id, g.status,
       g.what, g.why, g.sources::bigint[]
FROM unnest(%(task_ids)s::text[], %(kinds)s::text[], %(record_ids)s::text[], %(statuses)s::text[],
            %(whats)s::text[], %(whys)s::text[], %(sources)s::text[])
         AS g (task_id, kind, record_id, status, what, why, sources),
     {schema}.thread t
WHERE t.tenant = %(tenant)s AND t.thread_key = %(thread_key)s
ON CONFLICT (tenant, thread_key, scope, task_id, kind, record_id) DO UPDATE
    SET project = excluded.project, status = excluded.status, what = excluded.what,
        why = excluded.why, sources = excluded.sources, updated_at = excluded.updated_at
    WHERE (state_record.project, state_record.status, state_record.what, state_record.why,
           state_record.sources)
       IS DISTINCT FROM (excluded.project, excluded.status, excluded.what, excluded.why,
                         excluded.sources)

-- name: published
-- As the view working_state has it, the tenant named in each table.
SELECT r.thread_key, r.project, t.thread_id, r.scope, nullif(r.task_id, '') AS task_id, r.kind, r.record_id, r.status,
       r.what, r.why, r.sources, r.updated_at
FROM {schema}.state_record r
JOIN {schema}.thread t ON t.tenant = %(tenant)s AND t.thread_key = r.thread_key
WHERE r.tenant = %(tenant)s AND r.project <> ''
  AND (%(project)s::text IS NULL OR r.project = %(project)s)
  AND (%(kind)s::text IS NULL OR r.kind = %(kind)s)
  AND (%(thread_id)s::text IS NULL OR t.thread_id = %(thread_id)s)
UNION ALL
SELECT NULL::uuid, p.project, NULL, NULL, NULL, p.kind, p.record_id, p.status, p.what, p.why, '{}', p.updated_at
FROM {schema}.project_record p
WHERE p.tenant = %(tenant)s AND %(thread_id)s::text IS NULL
  AND (%(project)s::text IS NULL OR p.project = %(project)s)
  AND (%(kind)s::text IS NULL OR p.kind = %(kind)s)
ORDER BY updated_at DESC, project, thread_id, kind, record_id
LIMIT %(limit)s

-- name: shared
SELECT record_id, kind, what, why, status, created_at, updated_at
FROM {schema}.project_record
WHERE tenant = %(tenant)s AND project = %(project)s
ORDER BY created_at, record_id

-- name: share
INSERT INTO {schema}.project_record (tenant, project, record_id, kind, what, why, status)
VALUES (%(tenant)s, %(project)s, %(record_id)s, %(kind)s, %(what)s, %(why)s, %(status)s)
ON CONFLICT (tenant, project, record_id) DO UPDATE
    SET kind = excluded.kind, what = excluded.what, why = excluded.why, status = excluded.status,
        updated_at = excluded.updated_at

-- name: kept
SELECT seen, body FROM {schema}.state_fold
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s
  AND maker = %(maker)s AND seen > %(after)s
  AND seen <= coalesce(%(until)s::bigint, 9223372036854775807)
ORDER BY seen DESC
LIMIT 1

-- name: keep
-- Waits for whoever forgets entries of the thread, and then does nothing.
INSERT INTO {schema}.state_fold (tenant, thread_key, scope, seen, maker, body)
SELECT t.tenant, t.thread_key, %(scope)s, %(seen)s, %(maker)s, %(body)s
FROM {schema}.thread t
WHERE t.tenant = %(tenant)s AND t.thread_key = %(thread_key)s AND t.generation = %(generation)s
FOR KEY SHARE
ON CONFLICT (tenant, thread_key, scope, seen) DO UPDATE
    SET maker = excluded.maker, body = excluded.body

-- name: extent
-- The thread's newest message, and what changes when entries are forgotten.
SELECT t.generation,
       coalesce((SELECT max(e.seq) FROM {schema}.entry e
                 WHERE e.tenant = %(tenant)s AND e.thread_key = t.thread_key AND e.kind = 'message'),
                0) AS newest
FROM {schema}.thread t
WHERE t.tenant = %(tenant)s AND t.thread_key = %(thread_key)s
