-- name: count
SELECT {name} AS name, count(*) AS n FROM {{schema}}.{table} t
WHERE t.tenant = %(tenant)s AND {condition}

-- name: delete
DELETE FROM {{schema}}.{table} t WHERE t.tenant = %(tenant)s AND {condition}

-- name: lock
-- Writers of these threads wait until they are forgotten.
SELECT t.thread_id, t.updated_at > now() - interval '1 minute' AS active
FROM {schema}.thread t
WHERE t.tenant = %(tenant)s AND t.thread_key = ANY(%(thread_keys)s::uuid[])
ORDER BY t.thread_key
FOR UPDATE

-- name: active
SELECT t.thread_id, t.updated_at > now() - interval '1 minute' AS active
FROM {schema}.thread t
WHERE t.tenant = %(tenant)s AND t.thread_key = ANY(%(thread_keys)s::uuid[])
ORDER BY t.thread_key

-- name: write_receipt
-- Before anything is deleted: it counts what there is. Sent again, it is there already.
INSERT INTO {{schema}}.forget_receipt (tenant, receipt_id, part, what, subject, requested_by, counts)
SELECT %(tenant)s, %(receipt_id)s, %(part)s, %(what)s, %(subject)s, %(requested_by)s,
       coalesce((SELECT jsonb_object_agg(c.name, c.n) FROM ({counts}) AS c (name, n) WHERE c.n > 0),
                '{{}}')
ON CONFLICT (tenant, receipt_id, part) DO NOTHING

-- name: read_receipt
SELECT receipt_id, part, what, subject, requested_by, counts, created_at
FROM {schema}.forget_receipt
WHERE tenant = %(tenant)s AND receipt_id = %(receipt_id)s

-- name: receipts
SELECT receipt_id, part, what, subject, requested_by, counts, created_at
FROM {schema}.forget_receipt
WHERE tenant = %(tenant)s
ORDER BY created_at DESC, receipt_id, part
LIMIT %(limit)s

-- name: trim_facts
-- Facts that were said elsewhere too lose these sources.
UPDATE {schema}.store_item t
SET value = jsonb_set(t.value, '{sources}', coalesce(
    (SELECT jsonb_agg(s.s ORDER BY s.n)
     FROM jsonb_array_elements(t.value -> 'sources') WITH ORDINALITY AS s (s, n)
     WHERE NOT coalesce(s.s ->> 'thread_id' = ANY(%(thread_ids)s::text[])
                AND (%(seqs)s::bigint[] IS NULL
                     OR s.s ->> 'entry_id' = ANY(%(seqs)s::bigint[]::text[])), false)), '[]'))
WHERE t.tenant = %(tenant)s AND t.namespace[1] = 'facts'
  AND jsonb_typeof(t.value -> 'sources') = 'array'
  AND EXISTS (SELECT FROM jsonb_array_elements(t.value -> 'sources') AS s (s)
              WHERE s.s ->> 'thread_id' = ANY(%(thread_ids)s::text[])
                AND (%(seqs)s::bigint[] IS NULL
                     OR s.s ->> 'entry_id' = ANY(%(seqs)s::bigint[]::text[])))

-- name: bury
-- Puts what says that a message was forgotten in its place, where it is still the same.
UPDATE {schema}.entry e
SET digest = g.digest, occurrence = 0, body = g.body, tokens = NULL, metadata = NULL, user_id = NULL
FROM unnest(%(buried)s::bigint[], %(was)s::bytea[], %(digests)s::bytea[], %(bodies)s::bytea[])
     AS g (seq, was, digest, body)
WHERE e.tenant = %(tenant)s AND e.thread_key = ANY(%(thread_keys)s::uuid[])
  AND e.seq = g.seq AND e.digest = g.was

-- name: disown
-- A thread that others go on in is no more that user's.
UPDATE {schema}.thread SET user_id = NULL
WHERE tenant = %(tenant)s AND thread_key = ANY(%(thread_keys)s::uuid[]) AND user_id = %(user_id)s

-- name: renew
-- Whoever remembers entries of the thread reads them anew.
UPDATE {schema}.thread SET generation = generation + 1
WHERE tenant = %(tenant)s AND thread_key = ANY(%(thread_keys)s::uuid[])

-- name: reindex
UPDATE {schema}.recall_space SET done = '{}', units = 0
WHERE tenant = %(tenant)s AND space = ANY(%(thread_keys)s::uuid[])

-- name: reread
-- A model reads on from the first of them: what it had found in those around went too.
UPDATE {schema}.state_head SET extracted = least(extracted, %(first)s - 1), attempts = 0
WHERE tenant = %(tenant)s AND thread_key = ANY(%(thread_keys)s::uuid[])

-- name: users_threads
-- Threads that a user began, or said something in; shared where somebody else did too.
SELECT t.thread_key, t.thread_id,
       coalesce(t.user_id <> %(user_id)s, false)
       OR EXISTS (SELECT FROM {schema}.entry e
                  WHERE e.tenant = %(tenant)s AND e.thread_key = t.thread_key
                    AND e.user_id <> %(user_id)s) AS shared
FROM {schema}.thread t
WHERE t.tenant = %(tenant)s
  AND (t.user_id = %(user_id)s
       OR EXISTS (SELECT FROM {schema}.entry e
                  WHERE e.tenant = %(tenant)s AND e.thread_key = t.thread_key
                    AND e.user_id = %(user_id)s))
ORDER BY t.thread_id

-- name: users_entries
SELECT e.seq FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'
  AND e.user_id = %(user_id)s
ORDER BY e.seq

-- name: idle_threads
SELECT t.thread_id FROM {schema}.thread t
WHERE t.tenant = %(tenant)s AND t.updated_at < %(before)s
ORDER BY t.thread_id

-- name: tagged_entries
-- Entries all of whose units carry one of these tags: those that say something else too stay.
SELECT t.thread_id, array_agg(u.ref ORDER BY u.ref) AS seqs
FROM (
    SELECT u.space, u.ref FROM {schema}.recall_unit u
    WHERE u.tenant = %(tenant)s AND u.is_entry AND u.created_at < %(before)s
    GROUP BY u.space, u.ref HAVING bool_and(u.tags && %(tags)s::text[])
) u
JOIN {schema}.thread t ON t.tenant = %(tenant)s AND t.thread_key = u.space
GROUP BY t.thread_id
ORDER BY t.thread_id

-- name: targets
-- The entries given, with all that hold the same text, or another form of the same message.
WITH given AS (
    SELECT e.digest, e.message_id FROM {schema}.entry e
    WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s
      AND e.seq = ANY(%(seqs)s::bigint[]) AND e.kind = 'message'
)
SELECT e.seq, e.kind, e.digest, e.message_id, e.body FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.role IS NOT NULL
  AND e.kind <> 'sealed'
  AND (e.digest IN (SELECT digest FROM given)
       OR e.message_id IN (SELECT message_id FROM given))
ORDER BY e.seq

-- name: after
-- Messages after an entry, some at a time.
SELECT e.seq, e.kind, e.digest, e.message_id, e.body FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s
  AND e.kind IN ('message', 'draft') AND e.seq > %(after)s
ORDER BY e.seq
LIMIT %(limit)s

-- name: values_after
SELECT e.seq, e.kind, e.digest, e.body FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s
  AND e.kind IN ('value', 'sealed') AND e.seq > %(after)s
ORDER BY e.seq
LIMIT %(limit)s

-- name: logs
SELECT c.checkpoint_ns AS name, c.log AS body FROM {schema}.checkpoint c
WHERE c.tenant = %(tenant)s AND c.thread_key = %(thread_key)s

-- name: export_thread
SELECT t.thread_id, t.user_id, t.metadata, t.created_at, t.updated_at
FROM {schema}.thread t WHERE t.tenant = %(tenant)s AND t.thread_key = %(thread_key)s

-- name: export_entries
-- A page of a thread's entries; of a thread that is shared, those of the user.
SELECT e.seq, e.tokens, e.created_at, e.role, e.message_id, e.task_id, e.user_id, e.scope, e.metadata, e.digest, e.body
FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(thread_key)s AND e.kind = 'message'
  AND e.seq > %(after)s AND (%(only)s::text IS NULL OR e.user_id = %(only)s)
ORDER BY e.seq
LIMIT %(limit)s

-- name: export_namespaces
SELECT DISTINCT c.checkpoint_ns FROM {schema}.checkpoint c
WHERE c.tenant = %(tenant)s AND c.thread_key = %(thread_key)s
ORDER BY c.checkpoint_ns

-- name: export_compactions
SELECT scope, generation, covered, masked, boundary, view, report, created_at
FROM {schema}.compaction
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
ORDER BY scope, generation

-- name: export_pins
SELECT pin_id, seq AS entry_id, digest, priority, said_by, text, created_at
FROM {schema}.pin
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
ORDER BY pin_id

-- name: export_state_events
SELECT scope, number, event_id, at_seq, sources, body, created_at
FROM {schema}.state_event
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
ORDER BY scope, number

-- name: export_state_records
SELECT scope, task_id, kind, record_id, project, status, what, why, sources, updated_at
FROM {schema}.state_record
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
ORDER BY scope, task_id, kind, record_id

-- name: export_recalled
SELECT scope, seq, seq AS entry_id, seen, body AS text
FROM {schema}.brought
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND body <> ''
ORDER BY scope, seq, seen

-- name: export_items
SELECT i.namespace, i.key, i.value, i.created_at, i.updated_at, i.expires_at
FROM {schema}.store_item i
WHERE i.tenant = %(tenant)s AND i.namespace && %(labels)s::text[]
ORDER BY i.namespace, i.key

-- name: export_receipts
SELECT receipt_id, what, subject, requested_by, counts, created_at
FROM {schema}.forget_receipt
WHERE tenant = %(tenant)s AND (subject = %(user_id)s OR requested_by = %(user_id)s)
ORDER BY created_at, receipt_id, part
