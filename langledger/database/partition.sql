-- How the rows of a schema move into one made of partitions.

-- name: has_citus
SELECT WHERE to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL

-- name: distributed
SELECT FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
WHERE c.relnamespace = quote_ident(%(schema)s::text)::regnamespace
LIMIT 1

-- name: extension
SELECT FROM pg_extension
WHERE extname = 'vector' AND extnamespace = quote_ident(%(schema)s::text)::regnamespace
HAVING count(*) > 0

-- name: tables
SELECT c.relname::text AS name, c.relforcerowsecurity AS forced
FROM pg_class c
WHERE c.relnamespace = quote_ident(%(schema)s::text)::regnamespace AND c.relkind IN ('r', 'p')
  AND NOT c.relispartition AND c.relname <> 'migration'
ORDER BY c.relname

-- name: parents
-- Of the schema made anew.
SELECT DISTINCT c.relname::text AS child, p.relname::text AS parent
FROM pg_constraint f
JOIN pg_class c ON c.oid = f.conrelid AND NOT c.relispartition
JOIN pg_class p ON p.oid = f.confrelid AND NOT p.relispartition
WHERE f.contype = 'f' AND c.relnamespace = quote_ident(%(schema)s::text)::regnamespace AND c.oid <> p.oid

-- name: columns
SELECT attname::text AS name FROM pg_attribute
WHERE attrelid = format('%%I.%%I', %(schema)s::text, %(table)s::text)::regclass
  AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
ORDER BY attnum

-- name: vector_indexes
-- The tenant and the model are what the index is of.
SELECT pg_get_expr(i.indpred, i.indrelid) AS tenants
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = format('%%I.recall_vector', %(aside)s::text)::regclass
  AND i.indpred IS NOT NULL AND i.indisvalid
ORDER BY c.relname

-- name: grants
-- Every right that was given to somebody else than the owner, as the statement that gives it again.
SELECT format('GRANT %%s ON %%I.%%I TO %%s', a.privilege_type, %(schema)s::text, c.relname,
              CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END) AS statement
FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
WHERE c.relnamespace = quote_ident(%(aside)s::text)::regnamespace AND c.relkind IN ('r', 'v') AND a.grantee <> c.relowner
UNION ALL
SELECT format('GRANT %%s ON FUNCTION %%I.%%I(%%s) TO %%s', a.privilege_type, %(schema)s::text, p.proname,
              pg_get_function_identity_arguments(p.oid),
              CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END)
FROM pg_proc p CROSS JOIN LATERAL aclexplode(p.proacl) a
WHERE p.pronamespace = quote_ident(%(aside)s::text)::regnamespace AND a.grantee <> p.proowner
UNION ALL
SELECT format('GRANT %%s ON SCHEMA %%I TO %%s', a.privilege_type, %(schema)s::text,
              CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END)
FROM pg_namespace n CROSS JOIN LATERAL aclexplode(n.nspacl) a
WHERE n.nspname = %(aside)s::text AND a.grantee <> n.nspowner
UNION ALL
SELECT format('ALTER DEFAULT PRIVILEGES IN SCHEMA %%I GRANT %%s ON TABLES TO %%s', %(schema)s::text,
              a.privilege_type,
              CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END)
FROM pg_default_acl d CROSS JOIN LATERAL aclexplode(d.defaclacl) a
WHERE d.defaclnamespace = quote_ident(%(aside)s::text)::regnamespace AND d.defaclobjtype = 'r'
  AND a.grantee <> d.defaclrole

-- name: drops
-- What the schema made anew has too goes: views, all tables at once, then functions.
WITH ours AS (
    SELECT o.oid, o.relname, o.relkind
    FROM pg_class o
    WHERE o.relnamespace = quote_ident(%(aside)s::text)::regnamespace AND o.relkind IN ('r', 'v')
      AND EXISTS (SELECT FROM pg_class n WHERE n.relname = o.relname
                  AND n.relnamespace = quote_ident(%(schema)s::text)::regnamespace)
)
SELECT 1 AS place, format('DROP VIEW %%I.%%I', %(aside)s::text, relname) AS statement
FROM ours WHERE relkind = 'v'
UNION ALL
SELECT 2, format('DROP TABLE %%s', string_agg(oid::regclass::text, ', ')) FROM ours WHERE relkind = 'r'
UNION ALL
SELECT 3, format('DROP FUNCTION %%s', p.oid::regprocedure)
FROM pg_proc p
WHERE p.pronamespace = quote_ident(%(aside)s::text)::regnamespace
  AND EXISTS (SELECT FROM pg_proc n WHERE n.proname = p.proname
              AND n.pronamespace = quote_ident(%(schema)s::text)::regnamespace)
ORDER BY place
