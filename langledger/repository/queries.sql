-- name: register
INSERT INTO {schema}.repository (tenant, repository, name)
VALUES (%(tenant)s, %(repository)s, %(name)s)
ON CONFLICT (tenant, repository) DO NOTHING

-- name: register_worktree
INSERT INTO {schema}.repository_worktree (tenant, repository, worktree, root)
VALUES (%(tenant)s, %(repository)s, %(worktree)s, %(root)s)
ON CONFLICT (tenant, repository, worktree) DO NOTHING

-- name: files
-- One whose content was read as text for once is to be read again, whatever its stamp.
SELECT f.path, CASE WHEN coalesce(b.fault LIKE %(once)s, false) THEN ''::bytea ELSE f.stamp END AS stamp,
       f.blob, f.fault
FROM {schema}.repository_file f
LEFT JOIN {schema}.repository_blob b
  ON b.tenant = f.tenant AND b.repository = f.repository AND b.blob = f.blob
WHERE f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.worktree = %(worktree)s

-- name: known_blobs
SELECT blob, coalesce(fault LIKE %(once)s, false) AS again FROM {schema}.repository_blob
WHERE tenant = %(tenant)s AND repository = %(repository)s AND blob = ANY(%(blobs)s::uuid[])

-- name: clear_blobs
-- What hangs on contents that were read as text for once, in the transaction that puts it anew.
WITH held AS (
    SELECT blob FROM {schema}.repository_blob
    WHERE tenant = %(tenant)s AND repository = %(repository)s AND blob = ANY(%(again)s::uuid[])
      AND fault LIKE %(once)s
    ORDER BY blob
    FOR NO KEY UPDATE
), chunks AS (
    DELETE FROM {schema}.repository_chunk c USING held
    WHERE c.tenant = %(tenant)s AND c.repository = %(repository)s AND c.blob = held.blob
)
DELETE FROM {schema}.repository_symbol s USING held
WHERE s.tenant = %(tenant)s AND s.repository = %(repository)s AND s.blob = held.blob

-- name: put_blobs
-- RETURNING 1: Citus would use COPY otherwise, which row-level security does not allow.
-- A content that another indexer put here first is left to it, with all that hangs on it; unless it was
-- read as text for once. Ordered, so that two who wait for each other's rows do so in the same order.
WITH fresh AS (
    INSERT INTO {schema}.repository_blob AS known
        (tenant, repository, blob, language, encoding, lines, tokens, imports, fault, body)
    SELECT %(tenant)s, %(repository)s, b.blob, b.language, b.encoding, b.lines, b.tokens, b.imports::jsonb,
           b.fault, b.body
    FROM unnest(%(blobs)s::uuid[], %(languages)s::text[], %(encodings)s::text[], %(lines)s::int[],
                %(tokens)s::int[], %(imports)s::text[], %(faults)s::text[], %(bodies)s::bytea[])
         AS b (blob, language, encoding, lines, tokens, imports, fault, body)
    ORDER BY b.blob
    ON CONFLICT (tenant, repository, blob) DO UPDATE
        SET lines = excluded.lines, tokens = excluded.tokens, imports = excluded.imports,
            fault = excluded.fault, body = excluded.body
        WHERE known.blob = ANY(%(again)s::uuid[]) AND known.fault LIKE %(once)s
    RETURNING blob
), chunks AS (
    INSERT INTO {schema}.repository_chunk
        (tenant, repository, blob, chunk, symbol, start_byte, end_byte, start_line, end_line, tokens, size,
         terms)
    SELECT %(tenant)s, %(repository)s, c.blob, c.chunk, c.symbol, c.start_byte, c.end_byte, c.start_line,
           c.end_line, c.tokens, c.size, c.terms::tsvector
    FROM unnest(%(c_blobs)s::uuid[], %(c_numbers)s::int[], %(c_symbols)s::int[], %(c_starts)s::int[],
                %(c_ends)s::int[], %(c_first)s::int[], %(c_last)s::int[], %(c_tokens)s::int[],
                %(c_sizes)s::int[], %(c_terms)s::text[])
         AS c (blob, chunk, symbol, start_byte, end_byte, start_line, end_line, tokens, size, terms)
    JOIN fresh USING (blob)
    RETURNING 1
)
INSERT INTO {schema}.repository_symbol
    (tenant, repository, blob, symbol, parent, kind, name, qualified, start_byte, end_byte, start_line,
     end_line, signature, ref_kinds, ref_names, ref_receivers, ref_lines)
SELECT %(tenant)s, %(repository)s, s.blob, s.symbol, s.parent, s.kind, s.name, s.qualified, s.start_byte,
       s.end_byte, s.start_line, s.end_line, s.signature, string_to_array(s.kinds, chr(31)),
       string_to_array(s.names, chr(31)), CASE WHEN s.receivers = '' AND s.names <> '' THEN ARRAY[''] ELSE string_to_array(s.receivers, chr(31)) END,
       string_to_array(s.lines, chr(31))::int[]
FROM unnest(%(s_blobs)s::uuid[], %(s_numbers)s::int[], %(s_parents)s::int[], %(s_kinds)s::text[],
            %(s_names)s::text[], %(s_qualified)s::text[], %(s_starts)s::int[], %(s_ends)s::int[],
            %(s_first)s::int[], %(s_last)s::int[], %(s_signatures)s::text[], %(r_kinds)s::text[],
            %(r_names)s::text[], %(r_receivers)s::text[], %(r_lines)s::text[])
     AS s (blob, symbol, parent, kind, name, qualified, start_byte, end_byte, start_line, end_line,
           signature, kinds, names, receivers, lines)
JOIN fresh USING (blob)
RETURNING 1

-- name: put_files
-- Returns what was put. A file whose content is not there (any more) is left out and read again.
WITH given AS (
    SELECT f.*
    FROM unnest(%(paths)s::text[], %(blobs)s::uuid[], %(tests)s::bool[], %(stamps)s::bytea[],
                %(terms)s::text[], %(faults)s::text[]) AS f (path, blob, is_test, stamp, terms, fault)
), held AS (
    SELECT b.blob FROM {schema}.repository_blob b
    WHERE b.tenant = %(tenant)s AND b.repository = %(repository)s AND b.blob IN (SELECT g.blob FROM given g)
    ORDER BY b.blob
    FOR KEY SHARE
)
INSERT INTO {schema}.repository_file AS f
    (tenant, repository, worktree, path, blob, is_test, stamp, terms, fault)
SELECT %(tenant)s, %(repository)s, %(worktree)s, g.path, g.blob, g.is_test, g.stamp, g.terms::tsvector, g.fault
FROM given g
WHERE g.blob IS NULL OR g.blob IN (SELECT h.blob FROM held h)
ORDER BY g.path COLLATE "C"
ON CONFLICT (tenant, repository, worktree, path) DO UPDATE
    SET blob = excluded.blob, is_test = excluded.is_test, stamp = excluded.stamp, terms = excluded.terms,
        fault = excluded.fault,
        changed_at = CASE WHEN f.blob IS DISTINCT FROM excluded.blob THEN excluded.changed_at ELSE f.changed_at END
RETURNING path

-- name: remove_files
DELETE FROM {schema}.repository_file f
USING (SELECT path FROM {schema}.repository_file
       WHERE tenant = %(tenant)s AND repository = %(repository)s AND worktree = %(worktree)s
         AND path = ANY(%(paths)s::text[])
       ORDER BY path FOR UPDATE) AS gone
WHERE f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.worktree = %(worktree)s
  AND f.path = gone.path

-- name: finish
UPDATE {schema}.repository_worktree SET commit = %(commit)s, branch = %(branch)s, indexed_at = now()
WHERE tenant = %(tenant)s AND repository = %(repository)s AND worktree = %(worktree)s

-- name: tidy
-- Puts what was inserted last into the index proper: until then every search reads it through.
SELECT gin_clean_pending_list('{schema}.repository_chunk_terms'::regclass),
       gin_clean_pending_list('{schema}.repository_symbol_refs'::regclass)
WHERE pg_has_role((SELECT relowner FROM pg_class WHERE oid = '{schema}.repository_chunk_terms'::regclass), 'USAGE')

-- name: prune
-- Contents that no worktree has.
DELETE FROM {schema}.repository_blob b
WHERE b.tenant = %(tenant)s AND b.repository = %(repository)s
  AND NOT EXISTS (SELECT FROM {schema}.repository_file f
                  WHERE f.tenant = b.tenant AND f.repository = b.repository AND f.blob = b.blob)
RETURNING b.blob

-- name: forget
DELETE FROM {schema}.repository_worktree
WHERE tenant = %(tenant)s AND repository = %(repository)s AND worktree = %(worktree)s

-- name: stats
WITH mine AS (
    SELECT f.path, f.blob, f.fault FROM {schema}.repository_file f
    WHERE f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.worktree = %(worktree)s
), contents AS (
    SELECT b.* FROM {schema}.repository_blob b
    WHERE b.tenant = %(tenant)s AND b.repository = %(repository)s
      AND b.blob IN (SELECT blob FROM mine)
)
SELECT w.root, w.branch, w.commit, w.indexed_at, r.name,
       (SELECT count(*) FROM mine WHERE blob IS NOT NULL) AS files,
       (SELECT count(*) FROM mine WHERE blob IS NULL) AS skipped,
       (SELECT coalesce(sum(lines), 0) FROM contents) AS lines,
       (SELECT coalesce(sum(tokens), 0) FROM contents) AS tokens,
       (SELECT count(*) FROM {schema}.repository_chunk c
        WHERE c.tenant = %(tenant)s AND c.repository = %(repository)s
          AND c.blob IN (SELECT blob FROM mine)) AS chunks,
       (SELECT count(*) FROM {schema}.repository_symbol s
        WHERE s.tenant = %(tenant)s AND s.repository = %(repository)s AND s.symbol > 0
          AND s.blob IN (SELECT blob FROM mine)) AS symbols,
       (SELECT coalesce(jsonb_object_agg(language, n ORDER BY n DESC, language), '{}')
        FROM (SELECT language, count(*) AS n FROM contents GROUP BY language) AS l) AS languages
FROM {schema}.repository_worktree w
JOIN {schema}.repository r ON r.tenant = w.tenant AND r.repository = w.repository
WHERE w.tenant = %(tenant)s AND w.repository = %(repository)s AND w.worktree = %(worktree)s

-- name: nearest
-- The deepest of some folders that was indexed; under the wanted name where it has several.
SELECT w.root, r.name
FROM {schema}.repository_worktree w
JOIN {schema}.repository r ON r.tenant = w.tenant AND r.repository = w.repository
WHERE w.tenant = %(tenant)s AND w.root = ANY(%(roots)s::text[]) AND w.indexed_at IS NOT NULL
  AND (r.name = %(name)s OR NOT %(given)s)
ORDER BY length(w.root) DESC, r.name = %(name)s DESC, r.name
LIMIT 1

-- name: indexed
SELECT count(*) AS n FROM {schema}.repository_file
WHERE tenant = %(tenant)s AND repository = %(repository)s AND worktree = %(worktree)s
  AND blob IS NOT NULL

-- name: faults
SELECT f.path, coalesce(f.fault, b.fault) AS reason
FROM {schema}.repository_file f
LEFT JOIN {schema}.repository_blob b
  ON b.tenant = f.tenant AND b.repository = f.repository AND b.blob = f.blob
WHERE f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.worktree = %(worktree)s
  AND coalesce(f.fault, b.fault) IS NOT NULL
ORDER BY f.path

-- name: blobs_of
SELECT path, blob FROM {schema}.repository_file
WHERE tenant = %(tenant)s AND repository = %(repository)s AND worktree = %(worktree)s
  AND path = ANY(%(paths)s::text[]) AND blob IS NOT NULL

-- name: symbols_of
-- All definitions of some files, with what they mention.
SELECT f.path, s.*
FROM {schema}.repository_file f
JOIN {schema}.repository_symbol s
  ON s.tenant = f.tenant AND s.repository = f.repository AND s.blob = f.blob
WHERE f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.worktree = %(worktree)s
  AND f.path = ANY(%(paths)s::text[])
ORDER BY f.path, s.symbol

-- name: imports_of
SELECT f.path, b.language, b.imports
FROM {schema}.repository_file f
JOIN {schema}.repository_blob b
  ON b.tenant = f.tenant AND b.repository = f.repository AND b.blob = f.blob
WHERE f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.worktree = %(worktree)s
  AND f.path = ANY(%(paths)s::text[])

-- name: packages
-- Files that stand for their folder: what they import by name, their folder has by that name too.
SELECT path FROM {schema}.repository_file
WHERE tenant = %(tenant)s AND repository = %(repository)s AND worktree = %(worktree)s AND blob IS NOT NULL
  AND path ~ '(^|/)(__init__[.]pyi?|index[.][cm]?[jt]sx?|mod[.]rs)$'

-- name: named
-- Definitions of these names, some of each: what is defined a hundred times is not told apart.
SELECT n.name, s.path, s.symbol, s.parent, s.kind, s.qualified, s.total
FROM unnest(%(names)s::text[]) AS n (name)
CROSS JOIN LATERAL (
    SELECT f.path, s.symbol, s.parent, s.kind, s.qualified, count(*) OVER () AS total
    FROM {schema}.repository_symbol s
    JOIN {schema}.repository_file f
      ON f.tenant = s.tenant AND f.repository = s.repository AND f.blob = s.blob
     AND f.worktree = %(worktree)s
    WHERE s.tenant = %(tenant)s AND s.repository = %(repository)s AND s.name = n.name AND s.symbol > 0
      AND s.kind <> 'section' AND s.kind <> 'key'
    ORDER BY f.is_test, f.path, s.symbol
    LIMIT %(limit)s) AS s

-- name: mentioning
-- Definitions that mention one of these names.
SELECT f.path, s.*
FROM {schema}.repository_symbol s
JOIN {schema}.repository_file f
  ON f.tenant = s.tenant AND f.repository = s.repository AND f.blob = s.blob
 AND f.worktree = %(worktree)s
WHERE s.tenant = %(tenant)s AND s.repository = %(repository)s AND s.ref_names && %(names)s::text[]
ORDER BY f.is_test, f.path, s.symbol
LIMIT %(limit)s

-- name: put_traces
INSERT INTO {schema}.repository_trace AS t
    (tenant, repository, edge, source_path, source_name, target_path, target_name, times)
SELECT %(tenant)s, %(repository)s, g.edge, g.source_path, g.source_name, g.target_path, g.target_name, g.times
FROM unnest(%(edges)s::uuid[], %(source_paths)s::text[], %(source_names)s::text[], %(target_paths)s::text[],
            %(target_names)s::text[], %(times)s::int8[])
     AS g (edge, source_path, source_name, target_path, target_name, times)
ORDER BY g.edge
ON CONFLICT (tenant, repository, edge) DO UPDATE SET times = t.times + excluded.times, seen_at = excluded.seen_at

-- name: traces
SELECT source_path, source_name, target_path, target_name, times
FROM {schema}.repository_trace
WHERE tenant = %(tenant)s AND repository = %(repository)s
  AND (source_path = ANY(%(sources)s::text[]) OR target_path = ANY(%(targets)s::text[]))
ORDER BY edge
