-- name: get_items
-- Items by place; where they live for a time since their last use, that begins anew if asked for.
WITH wanted AS (
    SELECT string_to_array(w.namespace, '.') AS namespace, w.key, w.refresh, w.ord
    FROM unnest(%(namespaces)s::text[], %(keys)s::text[], %(refresh)s::boolean[])
         WITH ORDINALITY AS w (namespace, key, refresh, ord)
), used AS (
    UPDATE {schema}.store_item i
    SET expires_at = to_timestamp(extract(epoch FROM now())::float8 + extract(epoch FROM i.ttl)::float8)
    FROM wanted w
    WHERE i.tenant = %(tenant)s AND i.namespace = w.namespace AND i.key = w.key
      AND w.refresh AND i.ttl IS NOT NULL AND i.expires_at > now()
)
SELECT w.ord, i.namespace, i.key, i.value, i.created_at, i.updated_at
FROM wanted w
JOIN {schema}.store_item i
  ON i.tenant = %(tenant)s AND i.namespace = w.namespace AND i.key = w.key
WHERE i.expires_at IS NULL OR i.expires_at > now()

-- name: put_items
-- In the order of their places, so that of two writers none waits for the other in a circle. An item
-- that expired is not there any more: what takes its place is new.
INSERT INTO {schema}.store_item AS i (tenant, namespace, key, item_id, value, indexed, ttl, expires_at)
SELECT %(tenant)s, string_to_array(p.namespace, '.'), p.key, p.item_id, p.value::jsonb, p.indexed,
       make_interval(secs => p.seconds), now() + make_interval(secs => p.seconds)
FROM unnest(%(namespaces)s::text[], %(keys)s::text[], %(item_ids)s::uuid[], %(values)s::text[],
            %(indexed)s::boolean[], %(seconds)s::float8[])
     AS p (namespace, key, item_id, value, indexed, seconds)
ORDER BY 2, 3
ON CONFLICT (tenant, namespace, key) DO UPDATE
    SET value = excluded.value, indexed = excluded.indexed, ttl = excluded.ttl, expires_at = excluded.expires_at,
        updated_at = excluded.updated_at,
        created_at = CASE WHEN i.expires_at <= excluded.updated_at THEN excluded.created_at
                          ELSE i.created_at END

-- name: delete_items
DELETE FROM {schema}.store_item i
USING unnest(%(namespaces)s::text[], %(keys)s::text[]) AS d (namespace, key)
WHERE i.tenant = %(tenant)s AND i.namespace = string_to_array(d.namespace, '.') AND i.key = d.key

-- name: list_items
-- Items below a prefix, latest first.
WITH found AS (
    SELECT i.namespace, i.key, i.value, i.created_at, i.updated_at
    FROM {{schema}}.store_item i
    WHERE i.tenant = %(tenant)s
      AND (%(low)s::text[] IS NULL OR (i.namespace >= %(low)s::text[] AND i.namespace < %(high)s::text[]))
      AND (i.expires_at IS NULL OR i.expires_at > now())
      AND {condition}
    ORDER BY i.updated_at DESC, i.namespace, i.key
    LIMIT %(limit)s OFFSET %(offset)s
), used AS (
    UPDATE {{schema}}.store_item i
    SET expires_at = to_timestamp(extract(epoch FROM now())::float8 + extract(epoch FROM i.ttl)::float8)
    FROM found f
    WHERE i.tenant = %(tenant)s AND i.namespace = f.namespace AND i.key = f.key
      AND %(refresh)s AND i.ttl IS NOT NULL
)
SELECT f.*, NULL::float8 AS score FROM found f
ORDER BY f.updated_at DESC, f.namespace, f.key

-- name: items_below
-- All items below a prefix, some at a time.
SELECT i.item_id, i.namespace, i.key, i.value
FROM {schema}.store_item i
WHERE i.tenant = %(tenant)s
  AND (%(low)s::text[] IS NULL OR (i.namespace >= %(low)s::text[] AND i.namespace < %(high)s::text[]))
  AND (i.expires_at IS NULL OR i.expires_at > now())
  AND (%(after)s::uuid IS NULL OR i.item_id > %(after)s)
ORDER BY i.item_id LIMIT %(limit)s

-- name: list_namespaces
SELECT DISTINCT i.namespace[1:coalesce(%(depth)s::integer, cardinality(i.namespace))] AS namespace
FROM {{schema}}.store_item i
WHERE i.tenant = %(tenant)s AND (i.expires_at IS NULL OR i.expires_at > now()) AND {condition}
ORDER BY 1
LIMIT %(limit)s OFFSET %(offset)s

-- name: sweep_items
-- Removes up to so many items that expired, with their units.
WITH gone AS (
    SELECT e.namespace, e.key FROM {schema}.store_item e
    WHERE e.tenant = %(tenant)s AND e.expires_at <= now()
    ORDER BY e.expires_at LIMIT %(most)s
    FOR UPDATE SKIP LOCKED
), swept AS (
    DELETE FROM {schema}.store_item i USING gone g
    WHERE i.tenant = %(tenant)s AND i.namespace = g.namespace AND i.key = g.key
    RETURNING i.item_id
), units AS (
    DELETE FROM {schema}.store_unit u USING swept s
    WHERE u.tenant = %(tenant)s AND u.item_id = s.item_id
)
SELECT item_id FROM swept

-- name: delete_units
-- Of items as they were at a time, where one is given: who wrote since has made units anew.
DELETE FROM {schema}.store_unit u
WHERE u.tenant = %(tenant)s AND u.item_id = ANY(%(item_ids)s::uuid[])
  AND (%(as_of)s::timestamptz IS NULL
       OR EXISTS (SELECT FROM {schema}.store_item i
                  WHERE i.tenant = %(tenant)s AND i.item_id = u.item_id AND i.updated_at = %(as_of)s))

-- name: delete_units_of_gone
-- Of items that are gone: one that was not there to delete may have been written since.
DELETE FROM {schema}.store_unit u
WHERE u.tenant = %(tenant)s AND u.item_id = ANY(%(item_ids)s::uuid[])
  AND NOT EXISTS (SELECT FROM {schema}.store_item i
                  WHERE i.tenant = %(tenant)s AND i.item_id = u.item_id)

-- name: put_units
-- RETURNING: Citus would use COPY, which row-level security does not allow.
INSERT INTO {schema}.store_unit (tenant, item_id, part, size, terms, counts, model, embedding)
SELECT %(tenant)s, p.item_id, p.part, p.size, string_to_array(p.terms, ' '),
       string_to_array(p.counts, ' ')::integer[], p.model, {schema}.recall_vector_of(p.vector)
FROM unnest(%(item_ids)s::uuid[], %(parts)s::integer[], %(sizes)s::integer[], %(terms)s::text[],
            %(counts)s::text[], %(models)s::text[], %(vectors)s::text[])
     AS p (item_id, part, size, terms, counts, model, vector)
WHERE %(as_of)s::timestamptz IS NULL
   OR EXISTS (SELECT FROM {schema}.store_item i
              WHERE i.tenant = %(tenant)s AND i.item_id = p.item_id AND i.updated_at = %(as_of)s)
RETURNING part

-- name: items_after
SELECT i.item_id, i.namespace, i.key, i.value, i.updated_at
FROM {schema}.store_item i
WHERE i.tenant = %(tenant)s AND (%(after)s::uuid IS NULL OR i.item_id > %(after)s) AND i.indexed
ORDER BY i.item_id LIMIT %(limit)s

-- name: hold_item
SELECT 1 AS held FROM {schema}.store_item
WHERE tenant = %(tenant)s AND item_id = %(item_id)s AND updated_at = %(updated_at)s
FOR UPDATE

-- name: search_items
-- Items below a prefix by what they say: BM25 of the question's terms among what was asked for, and
-- the similarity of vectors where the store embeds. Every item that has one of both is ranked, so that
-- pages never lose one. Words raise the similarity towards the best there can be: a piece
-- that has every term of the question has at least nine tenths of the way there. Where nothing was
-- found, a row without an item still says how many pieces have vectors of others.
WITH scope AS (
    SELECT u.item_id, u.part, u.size, u.model,
           CASE WHEN u.terms && %(terms)s::text[] THEN u.terms END AS terms,
           CASE WHEN u.terms && %(terms)s::text[] THEN u.counts END AS counts,
           CASE WHEN u.model = %(model)s::text THEN {similarity} END AS similarity
    FROM {{schema}}.store_item i
    JOIN {{schema}}.store_unit u ON u.tenant = i.tenant AND u.item_id = i.item_id
    WHERE i.tenant = %(tenant)s
      AND (%(low)s::text[] IS NULL OR (i.namespace >= %(low)s::text[] AND i.namespace < %(high)s::text[]))
      AND (i.expires_at IS NULL OR i.expires_at > now())
      AND {condition}
), stats AS (
    SELECT count(*) AS units, greatest(avg(size), 1) AS size, max(similarity) AS closest,
           count(*) FILTER (WHERE model <> %(model)s::text) AS strangers
    FROM scope
), matched AS (
    SELECT s.item_id, s.part, s.size, t.term, t.n
    FROM scope s CROSS JOIN LATERAL unnest(s.terms, s.counts) AS t (term, n)
    WHERE s.terms IS NOT NULL AND t.term = ANY(%(terms)s::text[])
), weights AS (
    SELECT w.term, ln(1 + (t.units - coalesce(d.df, 0) + 0.5) / (coalesce(d.df, 0) + 0.5)) AS idf
    FROM stats t CROSS JOIN unnest(%(terms)s::text[]) AS w (term)
    LEFT JOIN (SELECT term, count(*) AS df FROM matched GROUP BY term) d ON d.term = w.term
), words AS (
    SELECT m.item_id, m.part,
           0.9 * least(1, sum(w.idf * m.n * 2.2 / (m.n + 1.2 * (0.25 + 0.75 * m.size / t.size)))
                          / (SELECT sum(idf) FROM weights)) AS share,
           count(*) = cardinality(%(terms)s::text[]) AS whole
    FROM matched m JOIN weights w ON w.term = m.term CROSS JOIN stats t
    GROUP BY m.item_id, m.part
), weighed AS (
    SELECT item_id, part, CASE WHEN whole THEN 0.9 + share / 9 ELSE share END AS share FROM words
), scored AS (
    SELECT s.item_id,
           max(CASE WHEN s.similarity IS NULL THEN w.share
                    ELSE s.similarity + %(pull)s * coalesce(w.share, 0)
                         * (greatest(%(best)s, t.closest) - s.similarity) END) AS score
    FROM scope s CROSS JOIN stats t
    LEFT JOIN weighed w ON w.item_id = s.item_id AND w.part = s.part
    WHERE s.similarity IS NOT NULL OR w.share IS NOT NULL
    GROUP BY s.item_id
), found AS (
    SELECT i.namespace, i.key, i.value, i.created_at, i.updated_at, s.score
    FROM scored s
    JOIN {{schema}}.store_item i ON i.tenant = %(tenant)s AND i.item_id = s.item_id
    ORDER BY s.score DESC, i.namespace, i.key
    LIMIT %(limit)s OFFSET %(offset)s
), used AS (
    UPDATE {{schema}}.store_item i
    SET expires_at = to_timestamp(extract(epoch FROM now())::float8 + extract(epoch FROM i.ttl)::float8)
    FROM found f
    WHERE i.tenant = %(tenant)s AND i.namespace = f.namespace AND i.key = f.key
      AND %(refresh)s AND i.ttl IS NOT NULL
)
SELECT f.*, t.strangers
FROM stats t LEFT JOIN found f ON true
ORDER BY f.score DESC, f.namespace, f.key

-- name: facts_of_thread
-- Facts, of any user, that were said in a thread.
SELECT i.namespace, i.key, i.value, i.created_at, i.updated_at
FROM {schema}.store_item i
WHERE i.tenant = %(tenant)s AND i.namespace >= %(low)s::text[] AND i.namespace < %(high)s::text[]
  AND i.value -> 'sources' @> %(source)s::jsonb
ORDER BY i.namespace, i.key

-- name: clear_history
UPDATE {schema}.thread
SET metadata = metadata || ('{"cleared_until": ' || (next_seq - 1) || '}')::jsonb
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
