-- name: worktrees
-- What is indexed of a tenant's repositories, the latest first.
SELECT w.repository, w.worktree, r.name, w.root, w.branch, w.commit, w.indexed_at,
       (SELECT count(*) FROM {schema}.repository_file f
        WHERE f.tenant = %(tenant)s AND f.repository = w.repository AND f.worktree = w.worktree
          AND f.blob IS NOT NULL) AS files
FROM {schema}.repository_worktree w
JOIN {schema}.repository r ON r.tenant = w.tenant AND r.repository = w.repository
WHERE w.tenant = %(tenant)s
ORDER BY w.indexed_at DESC NULLS LAST, w.root, w.worktree
LIMIT %(limit)s

-- name: worktree
SELECT w.repository, w.worktree, r.name, w.root, w.branch, w.commit, w.indexed_at
FROM {schema}.repository_worktree w
JOIN {schema}.repository r ON r.tenant = w.tenant AND r.repository = w.repository
WHERE w.tenant = %(tenant)s AND w.repository = %(repository)s AND w.worktree = %(worktree)s

-- name: languages
SELECT b.language, count(*) AS files, sum(b.lines)::bigint AS lines, sum(b.tokens)::bigint AS tokens
FROM {schema}.repository_file f
JOIN {schema}.repository_blob b
  ON b.tenant = f.tenant AND b.repository = f.repository AND b.blob = f.blob
WHERE f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.worktree = %(worktree)s
GROUP BY b.language
ORDER BY lines DESC, b.language

-- name: remarks
-- Files that are not indexed, or not wholly, and why.
SELECT f.path, coalesce(f.fault, b.fault) AS reason
FROM {schema}.repository_file f
LEFT JOIN {schema}.repository_blob b
  ON b.tenant = f.tenant AND b.repository = f.repository AND b.blob = f.blob
WHERE f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.worktree = %(worktree)s
  AND coalesce(f.fault, b.fault) IS NOT NULL
ORDER BY f.path
LIMIT %(limit)s

-- name: file
SELECT f.path, f.blob, f.is_test, f.changed_at, b.language, b.lines, b.tokens, b.fault, b.body
FROM {schema}.repository_file f
JOIN {schema}.repository_blob b
  ON b.tenant = f.tenant AND b.repository = f.repository AND b.blob = f.blob
WHERE f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.worktree = %(worktree)s
  AND f.path = %(path)s

-- name: definitions
SELECT s.symbol, s.parent, s.kind, s.qualified, s.signature, s.start_line, s.end_line
FROM {schema}.repository_symbol s
WHERE s.tenant = %(tenant)s AND s.repository = %(repository)s AND s.blob = %(blob)s
ORDER BY s.symbol

-- name: described
SELECT f.path, s.symbol, s.qualified, s.signature, s.start_line
FROM unnest(%(paths)s::text[], %(numbers)s::int[]) AS n (path, number)
JOIN {schema}.repository_file f
  ON f.tenant = %(tenant)s AND f.repository = %(repository)s AND f.worktree = %(worktree)s
 AND f.path = n.path
JOIN {schema}.repository_symbol s
  ON s.tenant = %(tenant)s AND s.repository = %(repository)s AND s.blob = f.blob
 AND s.symbol = n.number
