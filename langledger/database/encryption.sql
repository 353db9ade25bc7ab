-- name: secret
SELECT sealed, state FROM {schema}.encryption_key WHERE tenant = %(tenant)s

-- name: add_secret
-- Of several that are first, all take the one that is stored. A tenant that has nothing yet has
-- nothing in clear either; one that is in clear gets its secret with the first content.
INSERT INTO {schema}.encryption_key (tenant, sealed, state)
SELECT %(tenant)s, %(sealed)s::bytea, s.state
FROM (
    SELECT CASE WHEN EXISTS (SELECT FROM {schema}.thread t WHERE t.tenant = %(tenant)s)
                  OR EXISTS (SELECT FROM {schema}.summary_cache s WHERE s.tenant = %(tenant)s)
                  OR EXISTS (SELECT FROM {schema}.project_record p WHERE p.tenant = %(tenant)s)
                  OR EXISTS (SELECT FROM {schema}.store_item i WHERE i.tenant = %(tenant)s)
                THEN 'clear' ELSE 'keyed' END AS state
) AS s
WHERE %(content)s OR s.state = 'keyed'
ON CONFLICT (tenant) DO NOTHING

-- name: hold_clear
-- Fails where hashes are no more in clear; nobody replaces them until this transaction ends.
SELECT CASE state WHEN 'clear' THEN 0 ELSE (state || '!langledger')::int END AS held
FROM {schema}.encryption_key
WHERE tenant = %(tenant)s
FOR SHARE

-- name: unhashed
-- Fails where words and digests are hashed: who has no keys would find nothing by them.
SELECT CASE state WHEN 'clear' THEN 0 ELSE (state || '!langledger')::int END AS unhashed
FROM {schema}.encryption_key
WHERE tenant = %(tenant)s

-- name: unsealed
-- Fails where somebody encrypts: what is written in clear beside it would be found by nobody.
SELECT (state || '!langledger')::int AS unsealed FROM {schema}.encryption_key
WHERE tenant = %(tenant)s
