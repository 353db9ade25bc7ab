-- name: begin
-- From here on nobody writes under digests and words in clear, until all of them are hashed.
UPDATE {schema}.encryption_key SET state = 'converting'
WHERE tenant = %(tenant)s AND state = 'clear'

-- name: state
SELECT state, sealed FROM {schema}.encryption_key WHERE tenant = %(tenant)s

-- name: finish
UPDATE {schema}.encryption_key SET sealed = %(sealed)s::bytea, state = 'keyed'
WHERE tenant = %(tenant)s

-- name: unindex
-- The index is made anew, under hashes, when it is searched next.
WITH picked AS (
    SELECT s.space FROM {schema}.recall_space s
    WHERE s.tenant = %(tenant)s AND s.space = ANY(%(spaces)s::uuid[])
), gone AS (
    DELETE FROM {schema}.recall_unit u USING picked p
    WHERE u.tenant = %(tenant)s AND u.space = p.space
)
UPDATE {schema}.recall_space s SET done = '{}', units = 0
FROM picked p WHERE s.tenant = %(tenant)s AND s.space = p.space

-- name: spaces
SELECT s.space FROM {schema}.recall_space s
WHERE s.tenant = %(tenant)s AND s.units > 0
  AND EXISTS (SELECT FROM {schema}.thread t
              WHERE t.tenant = %(tenant)s AND t.thread_key = s.space)
LIMIT %(limit)s

-- name: uncache
-- Summaries that could be asked for again; their names in clear are not found any more.
DELETE FROM {schema}.summary_cache WHERE tenant = %(tenant)s

-- name: unembed
-- Vectors tell of the texts, and are not used where these are encrypted.
DELETE FROM {schema}.recall_vector WHERE tenant = %(tenant)s

-- name: outlived_units
DELETE FROM {schema}.store_unit u USING {schema}.store_item o, {schema}.store_item n
WHERE u.tenant = %(tenant)s AND o.tenant = %(tenant)s AND n.tenant = %(tenant)s
  AND o.namespace = %(namespace)s::text[] AND n.namespace = %(namespace)s::text[]
  AND o.key = ANY(%(keys)s::text[]) AND n.key = ANY(%(keys)s::text[])
  AND (o.updated_at, o.key) < (n.updated_at, n.key) AND u.item_id = o.item_id

-- name: outlived
-- Of an item that was written with keys and without, the one that was written last stays.
DELETE FROM {schema}.store_item o USING {schema}.store_item n
WHERE o.tenant = %(tenant)s AND n.tenant = %(tenant)s
  AND o.namespace = %(namespace)s::text[] AND n.namespace = %(namespace)s::text[]
  AND o.key = ANY(%(keys)s::text[]) AND n.key = ANY(%(keys)s::text[])
  AND (o.updated_at, o.key) < (n.updated_at, n.key)

-- name: pieces
SELECT part, terms, counts FROM {schema}.store_unit
WHERE tenant = %(tenant)s AND item_id = %(item_id)s
ORDER BY part

-- name: respell
-- Under the number of the item to be, which tells that they are done.
UPDATE {schema}.store_unit u
SET item_id = %(becomes)s, terms = string_to_array(p.terms, ' '),
    counts = string_to_array(p.counts, ' ')::integer[], model = NULL, embedding = NULL
FROM unnest(%(parts)s::integer[], %(terms)s::text[], %(counts)s::text[]) AS p (part, terms, counts)
WHERE u.tenant = %(tenant)s AND u.item_id = %(item_id)s AND u.part = p.part

-- name: uncovered
-- What is there, from before, of tables that are never encrypted.
SELECT 'repository' AS name FROM {schema}.repository r WHERE r.tenant = %(tenant)s LIMIT 1

-- name: page
-- Rows in the order of their key, with their content as it is stored; the version tells whether
-- a row was changed since.
SELECT {columns}, t.xmin::text AS version
FROM {{schema}}.{table} t
WHERE t.tenant = %(tenant)s AND {after}
ORDER BY {key}
LIMIT %(limit)s

-- name: rewrite
UPDATE {{schema}}.{table} t SET {assignments}
WHERE t.tenant = %(tenant)s AND {found} AND t.xmin::text = %(version)s
RETURNING 1 AS done

-- name: occurrence
-- Its own, unless another row of that digest has it.
CASE WHEN EXISTS (SELECT FROM {schema}.entry o
                  WHERE o.tenant = %(tenant)s AND o.thread_key = t.thread_key AND o.seq <> t.seq
                    AND o.digest = %(digest)s::bytea AND o.occurrence = t.occurrence)
     THEN (SELECT max(o.occurrence) + 1 FROM {schema}.entry o
           WHERE o.tenant = %(tenant)s AND o.thread_key = t.thread_key
             AND o.digest = %(digest)s::bytea)
     ELSE t.occurrence END
