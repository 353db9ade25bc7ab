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
SELECT number, at_seq, sources, body, created_at
FROM {schema}.state_event
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s
  AND at_seq <= coalesce(%(until)s::bigint, 9223372036854775807)
  AND number <> ALL(%(merged)s::bigint[])
ORDER BY number

-- name: claim
-- Takes the right to read on, where nobody else has it; returns from where.
INSERT INTO {schema}.state_head (tenant, thread_key, scope, claim, claimed_till)
SELECT tenant, thread_key, %(scope)s, %(claim)s, clock_timestamp() + %(seconds)s * interval '1 second'
FROM {schema}.thread WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
ON CONFLICT (tenant, thread_key, scope) DO UPDATE
    SET claim = excluded.claim, claimed_till = excluded.claimed_till
    WHERE state_head.claim IS NULL OR state_head.claimed_till < clock_timestamp()
       OR state_head.claim = excluded.claim
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

-- name: publish
-- Replaces what is published of one agent of one thread.
WITH given AS (
    SELECT * FROM unnest(%(task_ids)s::text[], %(kinds)s::text[], %(record_ids)s::text[],
                         %(statuses)s::text[], %(whats)s::text[], %(whys)s::text[],
                         %(sources)s::text[])
        AS g (task_id, kind, record_id, status, what, why, sources)
), gone AS (
    DELETE FROM {schema}.state_record r
    WHERE r.tenant = %(tenant)s AND r.thread_key = %(thread_key)s AND r.scope = %(scope)s
      AND NOT EXISTS (SELECT FROM given g WHERE g.task_id = r.task_id AND g.kind = r.kind
                      AND g.record_id = r.record_id)
)
INSERT INTO {schema}.state_record (tenant, thread_key, scope, project, task_id, kind, record_id, status,
                                   what, why, sources)
SELECT t.tenant, t.thread_key, %(scope)s, %(project)s, g.task_id, g.kind, g.record_id, g.status,
       g.what, g.why, g.sources::bigint[]
FROM given g, {schema}.thread t
WHERE t.tenant = %(tenant)s AND t.thread_key = %(thread_key)s
ON CONFLICT (tenant, thread_key, scope, task_id, kind, record_id) DO UPDATE
    SET project = excluded.project, status = excluded.status, what = excluded.what,
        why = excluded.why, sources = excluded.sources, updated_at = now()
    WHERE (state_record.project, state_record.status, state_record.what, state_record.why,
           state_record.sources)
       IS DISTINCT FROM (excluded.project, excluded.status, excluded.what, excluded.why,
                         excluded.sources)

-- name: published
SELECT project, thread_id, scope, task_id, kind, record_id, status, what, why, sources, updated_at
FROM {schema}.working_state
WHERE tenant = %(tenant)s AND project IS NOT NULL
  AND (%(project)s::text IS NULL OR project = %(project)s)
  AND (%(kind)s::text IS NULL OR kind = %(kind)s)
  AND (%(thread_id)s::text IS NULL OR thread_id = %(thread_id)s)
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
        updated_at = now()
