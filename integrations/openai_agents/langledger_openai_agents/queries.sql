-- name: note
-- What was taken back or cleared; the entries stay.
UPDATE {schema}.thread SET metadata = metadata || %(about)s::jsonb
WHERE tenant = %(tenant)s AND thread_key = %(thread_key)s
RETURNING thread_key
