-- How a schema is spread over a Citus cluster; run on the coordinator.

-- name: extension
SELECT extversion AS version FROM pg_extension WHERE extname = 'citus'

-- name: node
SELECT citus_is_coordinator() AS coordinator,
       (SELECT count(*) FROM pg_dist_node
        WHERE noderole = 'primary' AND isactive AND shouldhaveshards) AS nodes

-- name: foreign_key
SELECT conname::text AS name FROM pg_constraint
WHERE contype = 'f' AND conrelid = format('%%I.%%I', %(schema)s::text, %(table)s::text)::regclass
  AND confrelid = format('%%I.%%I', %(schema)s::text, %(parent)s::text)::regclass

-- name: next_table
-- The first that holds tenants and is not distributed, of those all whose parents are.
SELECT c.oid::regclass::text AS name
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
WHERE c.relnamespace = quote_ident(%(schema)s::text)::regnamespace AND c.relkind IN ('r', 'p')
  AND NOT c.relispartition
  AND c.oid NOT IN (SELECT logicalrelid FROM pg_dist_partition WHERE partmethod = 'h')
  AND NOT EXISTS (SELECT FROM pg_constraint f
                  WHERE f.contype = 'f' AND f.conrelid = c.oid AND f.confrelid <> c.oid
                    AND f.confrelid NOT IN (SELECT logicalrelid FROM pg_dist_partition
                                            WHERE partmethod = 'h'))
ORDER BY c.relname
LIMIT 1

-- name: distribute_table
SELECT create_distributed_table(%(table)s::text::regclass, 'tenant', colocate_with => %(colocated)s,
                                shard_count => %(shards)s::int)

-- name: distributed
SELECT c.oid::regclass::text AS name
FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
WHERE c.relnamespace = quote_ident(%(schema)s::text)::regnamespace AND p.partmethod = 'h'
ORDER BY c.relname

-- name: shards
SELECT count(*) AS n FROM pg_dist_shard
WHERE logicalrelid = format('%%I.thread', %(schema)s::text)::regclass

-- name: next_function
-- With a tenant: run where that is, also inside a transaction. Without: inlined there. What makes an
-- index or changes tables is the coordinator's.
SELECT p.oid::regprocedure::text AS function,
       CASE WHEN 'p_tenant' = ANY (p.proargnames) THEN 'p_tenant' END AS argument,
       (SELECT min(t.oid::regclass::text) FROM pg_class t
        WHERE t.oid = format('%%I.thread', %(schema)s::text)::regclass) AS colocated
FROM pg_proc p
JOIN pg_language l ON l.oid = p.prolang
WHERE p.pronamespace = quote_ident(%(schema)s::text)::regnamespace AND p.prorettype <> 'trigger'::regtype
  AND ('p_tenant' = ANY (p.proargnames) OR l.lanname = 'sql')
  AND p.prosrc NOT LIKE '%%CREATE INDEX%%'
  AND p.oid NOT IN (SELECT o.objid FROM pg_catalog.pg_dist_object o
                    WHERE o.classid = 'pg_proc'::regclass
                      AND (o.force_delegation OR l.lanname = 'sql'))
ORDER BY p.proname
LIMIT 1

-- name: distribute_function
SELECT CASE WHEN %(argument)s::text IS NULL
            THEN create_distributed_function(%(function)s::text::regprocedure)
            ELSE create_distributed_function(%(function)s::text::regprocedure, %(argument)s::text,
                                             %(colocated)s::text, true) END

-- name: delegated
SELECT p.oid::regproc::text AS name
FROM pg_proc p JOIN pg_catalog.pg_dist_object o
  ON o.classid = 'pg_proc'::regclass AND o.objid = p.oid AND o.force_delegation
WHERE p.pronamespace = quote_ident(%(schema)s::text)::regnamespace
ORDER BY p.proname
