-- name: worktree
SELECT w.commit, w.indexed_at FROM {schema}.repository_worktree w
WHERE w.tenant = %(tenant)s AND w.repository = %(repository)s AND w.worktree = %(worktree)s

-- name: extent
-- How large a worktree is, by some hundreds of its files; md5 so that these are the same ones again.
WITH files AS (
    SELECT f.path, f.blob FROM {schema}.repository_file f
    WHERE f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.worktree = %(worktree)s
      AND f.blob IS NOT NULL
), sampled AS (
    SELECT path, blob FROM files ORDER BY md5(path) LIMIT 500
), pieces AS (
    SELECT count(*)::float8 AS chunks, coalesce(avg(c.size), 1)::float8 AS size
    FROM sampled f JOIN {schema}.repository_chunk c
      ON c.tenant = %(tenant)s AND c.repository = %(repository)s AND c.blob = f.blob
)
SELECT (SELECT count(*) FROM files)::int AS files, (SELECT count(*) FROM sampled)::int AS sampled,
       p.chunks, p.size,
       (SELECT coalesce(avg(b.tokens), 1)::float8 FROM sampled f JOIN {schema}.repository_blob b
          ON b.tenant = %(tenant)s AND b.repository = %(repository)s AND b.blob = f.blob) AS tokens
FROM pieces p

-- name: common
WITH sampled AS (
    SELECT f.blob FROM {schema}.repository_file f
    WHERE f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.worktree = %(worktree)s
      AND f.blob IS NOT NULL
    ORDER BY md5(f.path) LIMIT 500
), pieces AS (
    SELECT c.terms FROM sampled f JOIN {schema}.repository_chunk c
      ON c.tenant = %(tenant)s AND c.repository = %(repository)s AND c.blob = f.blob
    LIMIT 4000
)
SELECT t.term, count(*)::float8 / (SELECT count(*) FROM pieces) AS share
FROM pieces p, unnest(tsvector_to_array(p.terms)) AS t (term)
GROUP BY t.term HAVING count(*) >= 4

-- name: present
-- Which of some rare terms occur at all.
SELECT t.place::int AS place
FROM unnest(%(rare)s::text[]) WITH ORDINALITY AS t (term, place)
WHERE EXISTS (SELECT FROM {schema}.repository_chunk c
              WHERE c.tenant = %(tenant)s AND c.repository = %(repository)s
                AND c.terms @@ t.term::tsquery)

-- name: paths
SELECT f.path, f.blob, f.is_test FROM {schema}.repository_file f
WHERE f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.worktree = %(worktree)s
  AND f.blob IS NOT NULL AND (f.path = ANY(%(names)s::text[]) OR f.path LIKE ANY(%(endings)s::text[]))
ORDER BY f.path

-- name: symbols
-- Definitions of these names, of one with hundreds those first that are called so as a whole.
SELECT n.name, s.qualified, s.kind, s.blob, s.symbol, s.signature, s.start_line, s.end_line,
       s.path, s.is_test
FROM unnest(%(names)s::text[]) AS n (name)
CROSS JOIN LATERAL (
    SELECT s.*, f.path, f.is_test
    FROM {schema}.repository_symbol s
    JOIN {schema}.repository_file f
      ON f.tenant = s.tenant AND f.repository = s.repository AND f.blob = s.blob
     AND f.worktree = %(worktree)s
    WHERE s.tenant = %(tenant)s AND s.repository = %(repository)s AND s.name = n.name
      AND s.symbol > 0
    ORDER BY s.qualified = ANY(%(whole)s::text[]) DESC, f.path, s.symbol LIMIT %(most)s) AS s

-- name: candidates
-- Chunks that hold a term, or are named; bit sets say which terms.
-- LATERAL and OFFSET: without statistics the planner would join these few rows to all others.
WITH matched AS MATERIALIZED (
    (SELECT c.blob, c.chunk, c.symbol, c.size, c.tokens, c.start_line, c.end_line,
            ({has})::int8 AS has
     FROM {schema}.repository_chunk c
     WHERE c.tenant = %(tenant)s AND c.repository = %(repository)s AND c.terms @@ %(any)s::tsquery {some})
    UNION
    SELECT c.blob, c.chunk, c.symbol, c.size, c.tokens, c.start_line, c.end_line,
           ({has})::int8 AS has
    FROM unnest(%(blobs)s::uuid[], %(first)s::int[], %(last)s::int[]) AS n (blob, first, last)
    CROSS JOIN LATERAL (
        SELECT * FROM {schema}.repository_chunk c
        WHERE c.tenant = %(tenant)s AND c.repository = %(repository)s AND c.blob = n.blob
          AND c.start_line <= n.last AND c.end_line >= n.first OFFSET 0) AS c
)
SELECT f.path, f.is_test, b.language, b.tokens AS file_tokens, m.blob, m.chunk AS number, m.symbol,
       m.size, m.tokens, m.start_line, m.end_line, m.has, ({in_path})::int8 AS in_path
FROM matched m
CROSS JOIN LATERAL (
    SELECT f.* FROM {schema}.repository_file f
    WHERE f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.blob = m.blob
      AND f.worktree = %(worktree)s OFFSET 0) AS f
CROSS JOIN LATERAL (
    SELECT b.language, b.tokens FROM {schema}.repository_blob b
    WHERE b.tenant = %(tenant)s AND b.repository = %(repository)s AND b.blob = m.blob OFFSET 0) AS b
WHERE true {within}

-- name: some
-- Of what all of a repository holds, the same part each time.
AND EXISTS (SELECT FROM {schema}.repository_file f
            WHERE f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.blob = c.blob
              AND f.worktree = %(worktree)s)
ORDER BY c.blob, c.chunk LIMIT %(most)s

-- name: texts
SELECT b.blob, b.body FROM {schema}.repository_blob b
WHERE b.tenant = %(tenant)s AND b.repository = %(repository)s AND b.blob = ANY(%(blobs)s::uuid[])

-- name: places
-- Chunks with their bytes and definitions.
SELECT c.blob, c.chunk AS number, c.start_byte, c.end_byte, c.start_line, c.end_line, c.tokens,
       c.symbol, s.kind, s.qualified, s.signature, s.start_line AS symbol_start, s.end_line AS symbol_end
FROM unnest(%(blobs)s::uuid[], %(numbers)s::int[]) AS n (blob, number)
JOIN {schema}.repository_chunk c
  ON c.tenant = %(tenant)s AND c.repository = %(repository)s AND c.blob = n.blob AND c.chunk = n.number
JOIN {schema}.repository_symbol s
  ON s.tenant = c.tenant AND s.repository = c.repository AND s.blob = c.blob AND s.symbol = c.symbol

-- name: whole
-- All chunks of some definitions, with those of the definitions within them.
SELECT n.path, n.number AS whole, c.blob, c.chunk AS number, c.start_byte, c.end_byte, c.start_line,
       c.end_line, c.tokens, c.symbol, s.kind, s.qualified, s.signature,
       s.start_line AS symbol_start, s.end_line AS symbol_end
FROM unnest(%(paths)s::text[], %(numbers)s::int[]) AS n (path, number)
JOIN {schema}.repository_file f
  ON f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.worktree = %(worktree)s
 AND f.path = n.path
JOIN {schema}.repository_symbol d
  ON d.tenant = f.tenant AND d.repository = f.repository AND d.blob = f.blob AND d.symbol = n.number
JOIN {schema}.repository_chunk c
  ON c.tenant = f.tenant AND c.repository = f.repository AND c.blob = f.blob
 AND c.start_byte < d.end_byte AND c.end_byte > d.start_byte
JOIN {schema}.repository_symbol s
  ON s.tenant = c.tenant AND s.repository = c.repository AND s.blob = c.blob AND s.symbol = c.symbol
ORDER BY n.path, n.number, c.chunk

-- name: around
-- The innermost definition around a line, with its file's text.
SELECT s.symbol, s.kind, s.qualified, s.signature, s.start_byte, s.end_byte, s.start_line, s.end_line,
       b.lines, b.body
FROM {schema}.repository_symbol s
JOIN {schema}.repository_blob b
  ON b.tenant = s.tenant AND b.repository = s.repository AND b.blob = s.blob
WHERE s.tenant = %(tenant)s AND s.repository = %(repository)s AND s.blob = %(blob)s
  AND ((s.start_line <= %(line)s AND s.end_line >= %(line)s) OR s.symbol = 0)
ORDER BY s.end_byte - s.start_byte, s.symbol DESC
LIMIT 1

-- name: described
SELECT f.path, s.symbol, s.qualified, s.signature, s.start_line, f.is_test
FROM unnest(%(paths)s::text[], %(numbers)s::int[]) AS n (path, number)
JOIN {schema}.repository_file f
  ON f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.worktree = %(worktree)s
 AND f.path = n.path
JOIN {schema}.repository_symbol s
  ON s.tenant = %(tenant)s AND s.repository = %(repository)s AND s.blob = f.blob
 AND s.symbol = n.number

-- name: outline
-- Definitions of a worktree's files, with how many definitions elsewhere mention their names.
WITH mentioned AS (
    SELECT r.name, count(*) AS times
    FROM {schema}.repository_file f
    JOIN {schema}.repository_symbol s
      ON s.tenant = f.tenant AND s.repository = f.repository AND s.blob = f.blob
    CROSS JOIN LATERAL (SELECT DISTINCT name FROM unnest(s.ref_names) AS u (name)) AS r
    WHERE f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.worktree = %(worktree)s
      AND NOT f.is_test
    GROUP BY r.name
), defined AS (
    SELECT f.path, s.symbol, s.kind, s.name, s.qualified, s.signature, s.start_line,
           count(*) OVER (PARTITION BY s.name) AS definitions
    FROM {schema}.repository_file f
    JOIN {schema}.repository_symbol s
      ON s.tenant = f.tenant AND s.repository = f.repository AND s.blob = f.blob
    WHERE f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.worktree = %(worktree)s
      AND NOT f.is_test AND s.symbol > 0 AND NOT s.kind = ANY(%(apart)s::text[])
      AND NOT s.name = ANY(%(common)s::text[])
)
SELECT d.path, d.symbol, d.qualified, d.signature, d.start_line,
       (m.times::float8 / d.definitions)::float8 AS weight
FROM defined d JOIN mentioned m ON m.name = d.name
ORDER BY weight DESC, d.path, d.symbol
LIMIT %(most)s
