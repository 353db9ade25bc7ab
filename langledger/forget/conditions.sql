-- What is forgotten, said as conditions on a table t: the same count its rows and delete them.

-- name: everything
true

-- name: of_threads
t.thread_key = ANY(%(thread_keys)s::uuid[])

-- name: in_spaces
t.space = ANY(%(thread_keys)s::uuid[])

-- name: with_threads
-- What may hold anybody's text goes with any thread that is there.
EXISTS (SELECT FROM {schema}.thread h
        WHERE h.tenant = %(tenant)s AND h.thread_key = ANY(%(thread_keys)s::uuid[]))

-- name: items_of_user
-- Items in namespaces that name the user. Columns without table: of whichever the condition is on.
namespace && %(labels)s::text[]

-- name: facts_said
-- Facts of users all of whose sources are among those that are forgotten. Whatever else an
-- application puts there has no sources, and stays.
namespace[1] = 'facts' AND jsonb_typeof(value -> 'sources') = 'array'
AND EXISTS (SELECT FROM jsonb_array_elements(value -> 'sources') AS s (s)
            WHERE s.s ->> 'thread_id' = ANY(%(thread_ids)s::text[]))
AND NOT EXISTS (SELECT FROM jsonb_array_elements(value -> 'sources') AS s (s)
                WHERE NOT coalesce(s.s ->> 'thread_id' = ANY(%(thread_ids)s::text[])
                           AND (%(seqs)s::bigint[] IS NULL
                                OR s.s ->> 'entry_id' = ANY(%(seqs)s::bigint[]::text[])), false))

-- name: units_of_items
t.item_id IN (SELECT i.item_id FROM {{schema}}.store_item i
              WHERE i.tenant = %(tenant)s AND i.item_id = t.item_id AND {condition})

-- name: quoting_items
-- What was shown in other threads of facts that are forgotten. Where either is encrypted, that is
-- taken to be whatever was shown before messages of the fact's user.
EXISTS (SELECT FROM {{schema}}.store_item i
        WHERE i.tenant = %(tenant)s AND {condition}
          AND ((i.value ->> 'text' <> '' AND position(i.value ->> 'text' IN t.body) > 0)
               OR ((i.value ? '$sealed' OR starts_with(t.body, E'\x1alangledger:'))
                   AND i.namespace[1] = 'facts'
                   AND EXISTS (SELECT FROM {{schema}}.entry e
                               WHERE e.tenant = %(tenant)s AND e.thread_key = t.thread_key
                                 AND e.seq = t.seq
                                 AND replace(replace(e.user_id, '%%', '%%25'), '.', '%%2E')
                                     = i.namespace[2]))))

-- name: pins_of_entries
t.thread_key = ANY(%(thread_keys)s::uuid[]) AND t.seq = ANY(%(seqs)s::bigint[])

-- name: since_entries
-- Made when the first of them was there.
t.thread_key = ANY(%(thread_keys)s::uuid[]) AND t.seen >= %(first)s

-- name: from_entries
t.thread_key = ANY(%(thread_keys)s::uuid[]) AND t.sources && %(seqs)s::bigint[]

-- name: values_of_threads
t.thread_key = ANY(%(thread_keys)s::uuid[]) AND t.kind <> 'message'

-- name: tombstoned
t.thread_key = ANY(%(thread_keys)s::uuid[]) AND t.seq = ANY(%(seqs)s::bigint[])
