-- name: latest
-- The compactions of a thread that the caller does not know yet, newest first.
SELECT generation, covered, masked, boundary, view
FROM {schema}.compaction
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s AND scope = %(scope)s
  AND generation > %(known)s
ORDER BY generation DESC
LIMIT %(limit)s OFFSET %(offset)s

-- name: commit
-- Inserts nothing where another writer already built on the same generation.
INSERT INTO {schema}.compaction (tenant, thread_key, scope, generation, covered, masked, boundary, view, report)
VALUES (%(tenant)s, %(thread_key)s, %(scope)s, %(generation)s, %(covered)s, %(masked)s, %(boundary)s,
        %(view)s, %(report)s)
ON CONFLICT DO NOTHING
RETURNING generation

-- name: reports
SELECT scope, generation, report, created_at
FROM {schema}.compaction
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
ORDER BY scope, generation

-- name: views
SELECT scope, generation, covered, masked, boundary, view, report, created_at
FROM {schema}.compaction
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
ORDER BY scope, generation

-- name: cached_summary
SELECT summary FROM {schema}.summary_cache WHERE tenant = %(tenant)s AND digest = %(digest)s

-- name: cache_summary
INSERT INTO {schema}.summary_cache (tenant, digest, summary)
VALUES (%(tenant)s, %(digest)s, %(summary)s)
ON CONFLICT (tenant, digest) DO NOTHING
