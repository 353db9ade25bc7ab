-- name: latest_in_folder
SELECT thread_id FROM {schema}.thread
WHERE tenant = %(tenant)s AND metadata ->> 'cwd' = %(cwd)s
ORDER BY updated_at DESC, thread_id
LIMIT 1
