-- name: secret
SELECT sealed, state FROM {schema}.encryption_key WHERE tenant = %(tenant)s

-- name: add_secret
-- Of several that are first, all take the one that is stored. A tenant that has nothing yet has
-- nothing in clear either.
INSERT INTO {schema}.encryption_key (tenant, sealed, state)
SELECT %(tenant)s, %(sealed)s::bytea,
       CASE WHEN EXISTS (SELECT FROM {schema}.thread t WHERE t.tenant = %(tenant)s)
              OR EXISTS (SELECT FROM {schema}.summary_cache s WHERE s.tenant = %(tenant)s)
              OR EXISTS (SELECT FROM {schema}.project_record p WHERE p.tenant = %(tenant)s)
            THEN 'clear' ELSE 'keyed' END
ON CONFLICT (tenant) DO NOTHING

-- name: hold_clear
-- Fails where hashes are no more in clear; nobody replaces them until this transaction ends.
SELECT 1 / (state = 'clear')::int AS held FROM {schema}.encryption_key
WHERE tenant = %(tenant)s
FOR SHARE
