-- name: missing
-- Messages of a thread that were not looked at, and up to which seq that is the whole truth: the
-- drafts among them are left for when they are messages.
WITH done AS (
    SELECT coalesce((SELECT s.done FROM {schema}.recall_space s
                     WHERE s.tenant = %(tenant)s AND s.space = %(space)s), '{}') AS done
), todo AS (
    SELECT e.seq, e.kind
    FROM done
    JOIN {schema}.thread t ON t.tenant = %(tenant)s AND t.thread_key = %(space)s,
         unnest(int8multirange(int8range(1, t.next_seq)) - done.done) AS r (r)
    JOIN {schema}.entry e
      ON e.tenant = %(tenant)s AND e.thread_key = %(space)s
     AND e.seq >= lower(r.r) AND e.seq < upper(r.r)
), page AS (
    SELECT seq FROM todo WHERE kind = 'message' ORDER BY seq LIMIT %(limit)s
), reach AS (
    SELECT CASE WHEN (SELECT count(*) FROM page) = %(limit)s THEN (SELECT max(seq) FROM page)
                ELSE t.next_seq - 1 END AS seq, t.thread_id, t.generation
    FROM {schema}.thread t WHERE t.tenant = %(tenant)s AND t.thread_key = %(space)s
), seen AS (
    SELECT reach.seq, reach.thread_id, reach.generation,
           coalesce((SELECT range_agg(int8range(d.seq, d.seq, '[]')) FROM todo d
                     WHERE d.kind = 'draft' AND d.seq <= reach.seq), '{}') AS drafts
    FROM reach
)
SELECT seen.thread_id, e.seq, e.tokens, e.created_at, e.role, e.message_id, e.task_id, e.user_id,
       e.scope, e.metadata, e.digest, e.body, seen.seq AS reach, seen.drafts::text AS drafts, seen.generation
FROM seen CROSS JOIN done
LEFT JOIN {schema}.entry e
  ON e.tenant = %(tenant)s AND e.thread_key = %(space)s AND e.seq IN (SELECT seq FROM page)
WHERE seen.seq > 0
  AND int8multirange(int8range(1, seen.seq, '[]')) - done.done <> seen.drafts
ORDER BY e.seq

-- name: before
SELECT e.seq, e.tokens, e.created_at, e.role, e.message_id, e.task_id, e.user_id, e.scope, e.metadata,
       e.digest, e.body
FROM {schema}.entry e
WHERE e.tenant = %(tenant)s AND e.thread_key = %(space)s AND e.kind = 'message'
  AND e.seq < %(seq)s AND e.seq >= %(seq)s - 64
ORDER BY e.seq

-- name: insert
-- Only of entries that are still there, in a thread where none was forgotten since they were read:
-- what went meanwhile must not come back.
INSERT INTO {schema}.recall_unit (tenant, space, ref, part, size, importance, created_at, said_at, digest,
                                  role, message_id, task_id, user_id, tags, metadata, terms, body, is_entry)
SELECT %(tenant)s, %(space)s, i.ref, i.part, i.size, i.importance, coalesce(i.created_at, now()),
       i.said_at, i.digest, i.role, i.message_id, i.task_id, i.user_id, string_to_array(i.tags, ' '),
       i.metadata, i.terms::tsvector, i.body, %(is_entry)s
FROM unnest(%(refs)s::int8[], %(parts)s::int[], %(sizes)s::int[], %(importances)s::real[],
            %(created)s::timestamptz[], %(said)s::timestamptz[], %(digests)s::bytea[], %(roles)s::text[], %(message_ids)s::text[],
            %(tasks)s::text[], %(users)s::text[], %(tags)s::text[], %(metadata)s::jsonb[], %(terms)s::text[],
            %(bodies)s::bytea[])
     AS i (ref, part, size, importance, created_at, said_at, digest, role, message_id, task_id, user_id, tags,
           metadata, terms, body)
WHERE NOT %(is_entry)s OR (
    EXISTS (SELECT FROM {schema}.entry e
            WHERE e.tenant = %(tenant)s AND e.thread_key = %(space)s AND e.seq = i.ref FOR KEY SHARE)
    AND EXISTS (SELECT FROM {schema}.thread t
                WHERE t.tenant = %(tenant)s AND t.thread_key = %(space)s
                  AND t.generation = %(generation)s::int8 FOR KEY SHARE))
ON CONFLICT (tenant, space, ref, part) DO NOTHING

-- name: mark
INSERT INTO {schema}.recall_space AS s (tenant, space, done, units)
SELECT %(tenant)s, %(space)s,
       CASE WHEN %(reach)s::int8 IS NULL THEN '{}'
            ELSE int8multirange(int8range(1, %(reach)s::int8, '[]'))
                 - coalesce(%(drafts)s::int8multirange, '{}') END,
       %(units)s
WHERE %(reach)s::int8 IS NULL
   OR EXISTS (SELECT FROM {schema}.thread t
              WHERE t.tenant = %(tenant)s AND t.thread_key = %(space)s
                AND t.generation = %(generation)s::int8 FOR KEY SHARE)
ON CONFLICT (tenant, space) DO UPDATE
    SET done = s.done + excluded.done, units = s.units + excluded.units

-- name: behind
-- Threads of the tenant in which something may not be indexed.
SELECT t.thread_id, t.thread_key AS space
FROM {schema}.thread t
LEFT JOIN {schema}.recall_space s ON s.tenant = t.tenant AND s.space = t.thread_key
WHERE t.tenant = %(tenant)s AND t.next_seq > 1
  AND (s.done IS NULL OR s.done <> int8multirange(int8range(1, t.next_seq)))
ORDER BY t.thread_key
LIMIT %(limit)s

-- name: witness
-- Changes whenever a thread has more to be found, or less; none of one that is not indexed to its end.
SELECT t.generation, t.next_seq, s.units
FROM {schema}.thread t
JOIN {schema}.recall_space s ON s.tenant = t.tenant AND s.space = t.thread_key
WHERE t.tenant = %(tenant)s AND t.thread_key = %(space)s
  AND s.done = int8multirange(int8range(1, t.next_seq))

-- name: witness_of_all
-- The same of all of the tenant's threads together, indexed or not.
SELECT count(*) AS threads, sum(t.generation) AS generations, sum(t.next_seq) AS seqs,
       sum(s.units) AS units
FROM {schema}.thread t
LEFT JOIN {schema}.recall_space s ON s.tenant = t.tenant AND s.space = t.thread_key
WHERE t.tenant = %(tenant)s
HAVING count(*) > 0

-- name: delete
DELETE FROM {schema}.recall_unit
WHERE tenant = %(tenant)s AND space = %(space)s AND ref = ANY(%(refs)s::int8[])

-- name: sizes
SELECT space, units FROM {schema}.recall_space
WHERE tenant = %(tenant)s AND (%(spaces)s::uuid[] IS NULL OR space = ANY(%(spaces)s::uuid[]))

-- name: common_terms
-- How frequent the frequent terms are, as the last ANALYZE saw it.
-- Of a table in partitions, each of these has its own statistics, and counts by its rows.
WITH part AS (
    SELECT c.oid, greatest(c.reltuples, 0) / nullif(sum(greatest(c.reltuples, 0)) OVER (), 0) AS share
    FROM pg_class c
    WHERE c.oid = '{schema}.recall_unit'::regclass AND c.relkind = 'r'
       OR c.oid IN (SELECT i.inhrelid FROM pg_inherits i
                    WHERE i.inhparent = '{schema}.recall_unit'::regclass)
)
SELECT e.term, sum(e.frequency * part.share) AS frequency
FROM part
JOIN pg_stats s ON format('%%I.%%I', s.schemaname, s.tablename)::regclass = part.oid AND s.attname = 'terms',
     unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs[1:cardinality(s.most_common_elems::text::text[])])
     AS e (term, frequency)
WHERE part.share > 0 AND %(clear)s
GROUP BY e.term

-- name: touch
INSERT INTO {schema}.recall_use AS r (tenant, space, ref, part, times, last_at)
SELECT %(tenant)s, g.space, g.ref, g.part, g.times, now()
FROM unnest(%(spaces)s::uuid[], %(refs)s::int8[], %(parts)s::int[], %(times)s::int[])
     AS g (space, ref, part, times)
JOIN {schema}.recall_unit u
  ON u.tenant = %(tenant)s AND u.space = g.space AND u.ref = g.ref AND u.part = g.part
ORDER BY g.space, g.ref, g.part
ON CONFLICT (tenant, space, ref, part) DO UPDATE SET times = r.times + excluded.times, last_at = excluded.last_at

-- name: never
-- Units that no search gave to anybody, oldest first.
SELECT u.ref, u.part, u.role, u.created_at, u.tags, u.metadata, u.body
FROM {schema}.recall_unit u
WHERE u.tenant = %(tenant)s AND u.space = %(space)s AND NOT (u.tags && %(hidden)s::text[])
  AND NOT EXISTS (SELECT FROM {schema}.recall_use r
                  WHERE r.tenant = u.tenant AND r.space = u.space AND r.ref = u.ref AND r.part = u.part)
ORDER BY u.ref, u.part
LIMIT %(limit)s OFFSET %(offset)s

-- name: model
-- The number of an embedding model, given out at its first use.
WITH known AS (
    SELECT model, dimensions FROM {schema}.recall_model WHERE tenant = %(tenant)s AND name = %(name)s
), made AS (
    INSERT INTO {schema}.recall_model (tenant, model, name, dimensions)
    SELECT %(tenant)s, coalesce(max(model), 0) + 1, %(name)s, %(dimensions)s
    FROM {schema}.recall_model WHERE tenant = %(tenant)s
    HAVING NOT EXISTS (SELECT FROM known)
    ON CONFLICT DO NOTHING
    RETURNING model, dimensions
)
SELECT model, dimensions FROM known UNION ALL SELECT model, dimensions FROM made

-- name: models
SELECT m.model, m.name, m.dimensions FROM {schema}.recall_model m
WHERE m.tenant = %(tenant)s ORDER BY m.model

-- name: unembedded
-- What is hidden needs no vector; it is found by its words when asked for.
SELECT u.space, u.ref, u.part, u.role, u.digest, u.body
FROM {schema}.recall_unit u
WHERE u.tenant = %(tenant)s AND (%(spaces)s::uuid[] IS NULL OR u.space = ANY(%(spaces)s::uuid[]))
  AND NOT (u.tags && %(hidden)s::text[])
  AND NOT EXISTS (SELECT FROM {schema}.recall_vector v
                  WHERE v.tenant = u.tenant AND v.space = u.space AND v.ref = u.ref AND v.part = u.part
                    AND v.model = %(model)s)
ORDER BY u.space, u.ref DESC, u.part
LIMIT %(limit)s

-- name: open_units
-- Takes units that people and agents said and that the rules left without a tag, or in doubt, to ask
-- a model about them: nobody else gets them after that.
WITH picked AS (
    SELECT u.space, u.ref, u.part FROM {schema}.recall_unit u
    WHERE u.tenant = %(tenant)s AND (%(spaces)s::uuid[] IS NULL OR u.space = ANY(%(spaces)s::uuid[]))
      AND u.is_entry AND NOT u.asked AND u.role IN ('human', 'ai')
      AND (cardinality(u.tags) = 0 OR (cardinality(u.tags) > 1 AND 'hypothesis' = ANY(u.tags)))
    ORDER BY u.space, u.ref DESC, u.part LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
)
UPDATE {schema}.recall_unit u SET asked = true
FROM picked p
WHERE u.tenant = %(tenant)s AND u.space = p.space AND u.ref = p.ref AND u.part = p.part
RETURNING u.space, u.ref, u.part, u.role, u.digest, u.body

-- name: reopen
UPDATE {schema}.recall_unit u SET asked = false
FROM unnest(%(spaces)s::uuid[], %(refs)s::int8[], %(parts)s::int[], %(digests)s::bytea[])
     AS g (space, ref, part, digest)
WHERE u.tenant = %(tenant)s AND u.space = g.space AND u.ref = g.ref AND u.part = g.part
  AND u.digest = g.digest

-- name: tag
UPDATE {schema}.recall_unit u SET tags = string_to_array(g.tags, ' '), importance = g.importance
FROM unnest(%(spaces)s::uuid[], %(refs)s::int8[], %(parts)s::int[], %(digests)s::bytea[],
            %(tags)s::text[], %(importances)s::real[])
     AS g (space, ref, part, digest, tags, importance)
WHERE u.tenant = %(tenant)s AND u.space = g.space AND u.ref = g.ref AND u.part = g.part
  AND u.digest = g.digest

-- name: embed
INSERT INTO {schema}.recall_vector (tenant, space, ref, part, model, digest, is_entry, embedding, fault)
SELECT u.tenant, u.space, u.ref, u.part, %(model)s, u.digest, u.is_entry,
       CASE WHEN g.vector IS NOT NULL THEN {schema}.recall_vector_of(g.vector) END, g.fault
FROM unnest(%(spaces)s::uuid[], %(refs)s::int8[], %(parts)s::int[], %(digests)s::bytea[],
            %(vectors)s::text[], %(faults)s::text[])
     AS g (space, ref, part, digest, vector, fault)
JOIN {schema}.recall_unit u
  ON u.tenant = %(tenant)s AND u.space = g.space AND u.ref = g.ref AND u.part = g.part
 AND u.digest = g.digest
FOR KEY SHARE OF u
ON CONFLICT (tenant, space, ref, part, model) DO NOTHING

-- name: copy_vectors
-- Gives units the vectors of equal texts.
INSERT INTO {schema}.recall_vector (tenant, space, ref, part, model, digest, is_entry, embedding)
SELECT u.tenant, u.space, u.ref, u.part, %(model)s, u.digest, u.is_entry, o.embedding
FROM unnest(%(spaces)s::uuid[], %(refs)s::int8[], %(parts)s::int[], %(digests)s::bytea[])
     AS g (space, ref, part, digest)
JOIN {schema}.recall_unit u
  ON u.tenant = %(tenant)s AND u.space = g.space AND u.ref = g.ref AND u.part = g.part
 AND u.digest = g.digest
CROSS JOIN LATERAL (
    SELECT v.embedding FROM {schema}.recall_vector v
    WHERE v.tenant = %(tenant)s AND v.digest = g.digest AND v.model = %(model)s
      AND v.embedding IS NOT NULL LIMIT 1) AS o
ON CONFLICT (tenant, space, ref, part, model) DO NOTHING
RETURNING space, ref, part

-- name: count_vectors
SELECT count(*) AS n FROM {schema}.recall_vector
WHERE tenant = %(tenant)s AND model = %(model)s AND embedding IS NOT NULL

-- name: build_index
SELECT {schema}.recall_build_index(%(tenant)s, %(model)s, %(dimensions)s)

-- name: has_index
-- By the name that recall_build_index gives.
SELECT count(*) AS n
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relnamespace = (SELECT t.relnamespace FROM pg_class t WHERE t.oid = '{schema}.recall_vector'::regclass)
  AND c.relname = %(name)s AND i.indisvalid

-- name: search
-- Candidates of the three arms with the raw numbers of each; langledger.recall.scoring ranks them.
-- body is a bit set: which terms a unit has itself. context is how much of each it has in another
-- form, or from the messages before it; or NULL.
WITH scope AS (
    SELECT greatest(coalesce(sum(s.units), 0), 1)::float8 AS units
    FROM {schema}.recall_space s WHERE s.tenant = %(tenant)s AND {space_of_scope}
), matched AS MATERIALIZED (
    SELECT u.space, u.ref, u.part, u.size, ({body})::int8 AS body, {context} AS context
    FROM {units} AS u
    WHERE u.tenant = %(tenant)s AND u.terms @@ %(any)s::tsquery AND {space_of_unit} {condition}
), counted AS (
    SELECT {counts}, count(*)::float8 AS rows, avg(size)::float8 AS size FROM matched
), weighed AS MATERIALIZED (
    SELECT {weights}, c.size
    FROM (SELECT counted.*, greatest(scope.units, counted.rows) AS n FROM counted, scope) c
), scored AS MATERIALIZED (
    SELECT m.*, 2.2 / (1 + 1.2 * (0.8 + 0.2 * m.size / greatest(w.size, 1))) AS norm,
           {words} AS words, {wholes} AS wholes
    FROM matched m, weighed w
), near AS (
    {near}
), picked AS (
    -- The best of each entry: one long message must not take all the places.
    (SELECT * FROM (SELECT DISTINCT ON (space, ref) * FROM scored
                    ORDER BY space, ref, norm * (words + 1.5 * wholes) DESC, part) best
     ORDER BY norm * (words + 1.5 * wholes) DESC, space, ref DESC LIMIT %(pool)s)
    UNION
    (SELECT * FROM scored
     ORDER BY norm * (words + 1.5 * wholes) DESC, space, ref DESC, part LIMIT %(pool)s)
    UNION
    (SELECT * FROM scored WHERE wholes > 0
     ORDER BY wholes DESC, norm * words DESC, space, ref DESC, part LIMIT %(pool)s)
    UNION
    {near_scored}
)
-- LATERAL and OFFSET: without statistics the planner would join these few rows to all others.
SELECT p.space, p.ref, p.part, u.role, u.created_at, u.importance, u.digest, u.tags, u.metadata, u.body,
       (p.norm * p.words)::float8 AS words, (p.norm * p.wholes)::float8 AS wholes,
       p.body AS has, p.context AS around, {cosine} AS cosine,
       r.last_at, r.times, t.thread_id, u.message_id, {weight} AS weights, scope.units
FROM picked p
CROSS JOIN LATERAL (
    SELECT u.* FROM {schema}.recall_unit u
    WHERE u.tenant = %(tenant)s AND u.space = p.space AND u.ref = p.ref AND u.part = p.part OFFSET 0) u
{vector_of}
LEFT JOIN LATERAL (
    SELECT r.last_at, r.times FROM {schema}.recall_use r
    WHERE r.tenant = %(tenant)s AND r.space = p.space AND r.ref = p.ref AND r.part = p.part
    OFFSET 0) r ON true
LEFT JOIN LATERAL (
    SELECT t.thread_id FROM {schema}.thread t
    WHERE t.tenant = %(tenant)s AND t.thread_key = p.space OFFSET 0) t ON true
CROSS JOIN weighed w CROSS JOIN scope

-- name: near_scored
SELECT n.space, n.ref, n.part, coalesce(s.size, 0), coalesce(s.body, 0), s.context,
       coalesce(s.norm, 0), coalesce(s.words, 0), coalesce(s.wholes, 0)
FROM near n
LEFT JOIN LATERAL (
    SELECT * FROM scored s WHERE s.space = n.space AND s.ref = n.ref AND s.part = n.part) s ON true

-- name: vector_of
LEFT JOIN LATERAL (
    SELECT v.embedding FROM {schema}.recall_vector v
    WHERE v.tenant = %(tenant)s AND v.space = p.space AND v.ref = p.ref AND v.part = p.part
      AND v.model = %(model)s OFFSET 0) v ON true

-- name: near_all
-- The nearest of all; what hides a unit is looked at afterwards, for it is rare.
SELECT n.space, n.ref, n.part
FROM (SELECT v.space, v.ref, v.part, {schema}.recall_distance(v.embedding, %(vector)s::text) AS distance
      FROM {schema}.recall_vector v
      WHERE v.tenant = %(tenant)s AND v.model = %(model)s AND v.embedding IS NOT NULL
        AND {space_of_vector}
      ORDER BY 4, v.space, v.ref DESC, v.part LIMIT %(reach)s) n
JOIN {schema}.recall_unit u
  ON u.tenant = %(tenant)s AND u.space = n.space AND u.ref = n.ref AND u.part = n.part
WHERE {space_of_unit} {condition}
ORDER BY row_number() OVER (PARTITION BY n.space, n.ref ORDER BY n.distance, n.part) > 1,
         n.distance, n.space, n.ref DESC, n.part
LIMIT %(pool)s

-- name: near_filtered
SELECT v.space, v.ref, v.part
FROM {schema}.recall_vector v
WHERE v.tenant = %(tenant)s AND v.model = %(model)s AND v.embedding IS NOT NULL AND {space_of_vector}
  AND EXISTS (SELECT FROM {schema}.recall_unit u
              WHERE u.tenant = v.tenant AND u.space = v.space AND u.ref = v.ref AND u.part = v.part
                AND {space_of_unit} {condition})
ORDER BY {schema}.recall_distance(v.embedding, %(vector)s::text), v.space, v.ref DESC, v.part
LIMIT %(pool)s

-- name: near_indexed
SELECT n.space, n.ref, n.part
FROM {schema}.recall_nearest(%(tenant)s, %(model)s, %(dimensions)s, %(vector)s, %(reach)s) n
JOIN {schema}.recall_unit u
  ON u.tenant = %(tenant)s AND u.space = n.space AND u.ref = n.ref AND u.part = n.part
WHERE {space_of_unit} {condition}
ORDER BY row_number() OVER (PARTITION BY n.space, n.ref ORDER BY n.distance, n.part) > 1,
         n.distance, n.space, n.ref DESC, n.part
LIMIT %(pool)s
