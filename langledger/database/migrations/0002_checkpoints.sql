-- LangGraph checkpoints. A checkpoint's row says which entries its channels are made of; it is
-- complete in itself, so reading, forking and deleting one never needs its ancestors.

-- One row a checkpoint with the writes pending on it. A row without body holds writes that came
-- before their checkpoint; rows with part > 0 hold the writes that part 0 has no room for, so that
-- a thousand parallel tasks do not rewrite one row a thousand times.
CREATE TABLE checkpoint (
    created_at    timestamptz   NOT NULL,
    layout        bigint,                  -- of body; null: body holds its own
    part          integer       NOT NULL DEFAULT 0,
    hidden        boolean       NOT NULL DEFAULT false,  -- pruned, kept for its descendants' delta channels
    tenant        text          NOT NULL,
    thread_key    uuid          NOT NULL,
    checkpoint_ns text          NOT NULL,
    checkpoint_id bytea         NOT NULL,  -- 16 bytes where it is a UUID; in its order
    parent_id     bytea,
    run_id        text,
    snapshots     text[],                  -- delta channels stored whole here; null: has none at all
    refs          int8multirange,          -- seqs of the entries that body and writes refer to
    body          bytea,
    writes        bytea,
    PRIMARY KEY (tenant, thread_key, checkpoint_ns, checkpoint_id, part)
);
CREATE INDEX checkpoint_run ON checkpoint (tenant, run_id) WHERE run_id IS NOT NULL;
ALTER TABLE checkpoint ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE checkpoint ALTER COLUMN writes SET STORAGE EXTERNAL;

-- Names of channels, nodes and metadata keys, which are the same from step to step: stored once.
CREATE TABLE checkpoint_layout (
    tenant  text    NOT NULL,
    layout  bigint  NOT NULL,  -- hash of body
    body    bytea   NOT NULL,
    PRIMARY KEY (tenant, layout)
);

-- Key of the content hashes where a checkpointer encrypts, itself encrypted by it.
CREATE TABLE checkpoint_secret (
    tenant      text        NOT NULL,
    secret_id   uuid        NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    kind        text        NOT NULL,
    sealed      bytea       NOT NULL,
    PRIMARY KEY (tenant, secret_id)
);

-- Writes new entries with the checkpoint, or the pending writes, made of them: one statement, one
-- transaction, nobody else's rows touched.
--
-- p_body and p_writes refer to new entries by their place in p_kinds...; the seqs they got are put
-- before them: a count of two bytes, then eight bytes each. p_generation is what the writer's own
-- seqs were learned under; if entries were deleted since, nothing is written, seqs is null, and the
-- writer starts over. With p_wait false a thread that another transaction holds is left alone:
-- generation is null.
CREATE FUNCTION record_checkpoint(
    p_tenant text, p_thread_key uuid, p_thread_id text, p_generation bigint, p_wait boolean,
    p_scope text, p_kinds text[], p_digests bytea[], p_message_ids text[], p_roles text[],
    p_bodies bytea[],
    p_checkpoint_ns text, p_checkpoint_id bytea, p_parent_id bytea, p_created_at timestamptz,
    p_run_id text, p_snapshots text[], p_layout bigint, p_refs int8multirange,
    p_body bytea, p_writes bytea,
    OUT generation bigint, OUT seqs bigint[]
) LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    v_refs   int8multirange := p_refs;
    v_head   bytea := '\x0000';
    v_writes bytea;
    v_part   integer;
BEGIN
    IF p_wait THEN
        UPDATE thread t SET updated_at = now()
        WHERE t.tenant = p_tenant AND t.thread_key = p_thread_key
        RETURNING t.generation INTO generation;
    ELSE
        SELECT t.generation INTO generation FROM thread t
        WHERE t.tenant = p_tenant AND t.thread_key = p_thread_key
        FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND AND EXISTS (SELECT FROM thread t WHERE t.tenant = p_tenant
                                                        AND t.thread_key = p_thread_key) THEN
            RETURN;
        END IF;
        UPDATE thread t SET updated_at = now()
        WHERE t.tenant = p_tenant AND t.thread_key = p_thread_key;
    END IF;
    IF generation IS NULL THEN
        INSERT INTO thread AS t (tenant, thread_key, thread_id)
        VALUES (p_tenant, p_thread_key, p_thread_id)
        ON CONFLICT (tenant, thread_key) DO UPDATE SET updated_at = now()
        RETURNING t.generation INTO generation;
    END IF;
    IF p_generation <> generation THEN
        RETURN;
    END IF;

    IF cardinality(p_kinds) > 0 THEN
        SELECT array_agg(a.seq ORDER BY a.ord),
               v_refs + range_agg(int8range(a.seq, a.seq, '[]')),
               int2send(count(*)::int2) || string_agg(int8send(a.seq), '' ORDER BY a.ord)
        INTO seqs, v_refs, v_head
        FROM append_entries(p_tenant, p_thread_key, p_scope, NULL, NULL, p_kinds, p_digests,
                            NULL, p_message_ids, p_roles, NULL, NULL, p_bodies)
             WITH ORDINALITY AS a (seq, fresh, ord);
    ELSE
        seqs := '{}';
    END IF;

    IF p_body IS NOT NULL THEN
        INSERT INTO checkpoint AS c
            (created_at, layout, tenant, thread_key, checkpoint_ns, checkpoint_id, parent_id, run_id,
             snapshots, refs, body)
        VALUES (p_created_at, p_layout, p_tenant, p_thread_key, p_checkpoint_ns, p_checkpoint_id,
                p_parent_id, p_run_id, p_snapshots, nullif(v_refs, '{}'), v_head || p_body)
        ON CONFLICT (tenant, thread_key, checkpoint_ns, checkpoint_id, part) DO UPDATE
        SET created_at = excluded.created_at, layout = excluded.layout, hidden = false,
            parent_id = excluded.parent_id, run_id = excluded.run_id,
            snapshots = excluded.snapshots, body = excluded.body,
            refs = nullif(coalesce(c.refs, '{}') + coalesce(excluded.refs, '{}'), '{}');
    ELSIF p_writes IS NOT NULL THEN
        v_writes := v_head || p_writes;
        SELECT max(c.part) INTO v_part FROM checkpoint c
        WHERE c.tenant = p_tenant AND c.thread_key = p_thread_key
          AND c.checkpoint_ns = p_checkpoint_ns AND c.checkpoint_id = p_checkpoint_id;
        -- A repeated call leaves what one call leaves.
        UPDATE checkpoint c
        SET writes = CASE WHEN substr(c.writes, greatest(1, octet_length(c.writes)
                                                            - octet_length(v_writes) + 1)) = v_writes
                          THEN c.writes ELSE coalesce(c.writes, '') || v_writes END,
            refs = nullif(coalesce(c.refs, '{}') + v_refs, '{}')
        WHERE c.tenant = p_tenant AND c.thread_key = p_thread_key
          AND c.checkpoint_ns = p_checkpoint_ns AND c.checkpoint_id = p_checkpoint_id
          AND c.part = v_part AND coalesce(octet_length(c.writes), 0) < 1024;
        IF NOT FOUND THEN
            INSERT INTO checkpoint (created_at, part, tenant, thread_key, checkpoint_ns,
                                    checkpoint_id, refs, writes)
            VALUES (now(), coalesce(v_part + 1, 0), p_tenant, p_thread_key, p_checkpoint_ns,
                    p_checkpoint_id, nullif(v_refs, '{}'), v_writes);
        END IF;
    END IF;
END $$;

-- Reads checkpoints of a thread with their writes, and the entries and layouts that the reader
-- does not have, in one statement.
--
-- Which: those of p_nss and p_ids, pairwise; or with p_channels the ancestors of the one they name,
-- nearest first, until each of these delta channels is found stored whole, at most p_limit; or the
-- newest p_limit of p_checkpoint_ns (null: of all), older than p_before and behind (p_after_id,
-- p_after_ns) in that order. p_have are the seqs the reader has, learned under p_generation.
CREATE FUNCTION read_checkpoints(
    p_tenant text, p_thread_key uuid, p_generation bigint, p_have int8multirange,
    p_layouts bigint[], p_nss text[], p_ids bytea[], p_channels text[], p_checkpoint_ns text,
    p_before bytea, p_after_id bytea, p_after_ns text, p_limit integer
) RETURNS TABLE (
    what text, number bigint, created_at timestamptz, name text, id bytea, parent_id bytea,
    body bytea, writes bytea, message_id text
) LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    v_nss        text[] := p_nss;
    v_ids        bytea[] := p_ids;
    v_generation bigint;
    v_wanted     int8multirange;
BEGIN
    SELECT t.generation INTO v_generation FROM thread t
    WHERE t.tenant = p_tenant AND t.thread_key = p_thread_key;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT 'thread', v_generation, NULL::timestamptz, NULL, NULL::bytea, NULL::bytea,
                        NULL::bytea, NULL::bytea, NULL;

    IF p_ids IS NULL AND p_checkpoint_ns IS NOT NULL THEN
        SELECT array_agg(p.checkpoint_id ORDER BY p.checkpoint_id DESC),
               array_agg(p_checkpoint_ns)
        INTO v_ids, v_nss
        FROM (SELECT c.checkpoint_id FROM checkpoint c
              WHERE c.tenant = p_tenant AND c.thread_key = p_thread_key
                AND c.checkpoint_ns = p_checkpoint_ns
                AND c.part = 0 AND c.body IS NOT NULL AND NOT c.hidden
                AND (p_before IS NULL OR c.checkpoint_id < p_before)
                AND (p_after_id IS NULL OR c.checkpoint_id < p_after_id)
              ORDER BY c.checkpoint_id DESC LIMIT p_limit) AS p;
    ELSIF p_ids IS NULL THEN
        SELECT array_agg(p.checkpoint_id ORDER BY p.checkpoint_id DESC, p.checkpoint_ns DESC),
               array_agg(p.checkpoint_ns ORDER BY p.checkpoint_id DESC, p.checkpoint_ns DESC)
        INTO v_ids, v_nss
        FROM (SELECT c.checkpoint_id, c.checkpoint_ns FROM checkpoint c
              WHERE c.tenant = p_tenant AND c.thread_key = p_thread_key
                AND c.part = 0 AND c.body IS NOT NULL AND NOT c.hidden
                AND (p_before IS NULL OR c.checkpoint_id < p_before)
                AND (p_after_id IS NULL
                     OR (c.checkpoint_id, c.checkpoint_ns) < (p_after_id, p_after_ns))
              ORDER BY c.checkpoint_id DESC, c.checkpoint_ns DESC LIMIT p_limit) AS p;
    ELSIF p_channels IS NOT NULL THEN
        WITH RECURSIVE chain AS (
            SELECT c.parent_id AS checkpoint_id, p_channels AS missing, 1 AS place
            FROM checkpoint c
            WHERE c.tenant = p_tenant AND c.thread_key = p_thread_key
              AND c.checkpoint_ns = p_nss[1] AND c.checkpoint_id = p_ids[1] AND c.part = 0
            UNION ALL
            SELECT c.parent_id,
                   ARRAY(SELECT unnest(chain.missing) EXCEPT SELECT unnest(c.snapshots)),
                   chain.place + 1
            FROM chain JOIN checkpoint c
              ON c.tenant = p_tenant AND c.thread_key = p_thread_key
             AND c.checkpoint_ns = p_nss[1] AND c.checkpoint_id = chain.checkpoint_id AND c.part = 0
            WHERE cardinality(chain.missing) > 0 AND chain.place < p_limit
        )
        SELECT array_agg(chain.checkpoint_id ORDER BY place), array_agg(p_nss[1])
        INTO v_ids, v_nss
        FROM chain WHERE cardinality(chain.missing) > 0 AND chain.checkpoint_id IS NOT NULL;
    END IF;

    SELECT range_agg(r.r) INTO v_wanted
    FROM unnest(v_nss, v_ids) AS w (checkpoint_ns, checkpoint_id)
    JOIN checkpoint c
      ON c.tenant = p_tenant AND c.thread_key = p_thread_key
     AND c.checkpoint_ns = w.checkpoint_ns AND c.checkpoint_id = w.checkpoint_id,
    unnest(c.refs) AS r (r);
    IF v_generation = p_generation THEN
        v_wanted := v_wanted - p_have;
    END IF;

    RETURN QUERY
    SELECT CASE WHEN c.part > 0 THEN 'part' WHEN c.hidden OR c.body IS NULL THEN 'hidden'
                ELSE 'checkpoint' END,
           c.layout, c.created_at, c.checkpoint_ns, c.checkpoint_id, c.parent_id, c.body, c.writes,
           NULL::text
    FROM unnest(v_nss, v_ids) WITH ORDINALITY AS w (checkpoint_ns, checkpoint_id, place)
    JOIN checkpoint c
      ON c.tenant = p_tenant AND c.thread_key = p_thread_key
     AND c.checkpoint_ns = w.checkpoint_ns AND c.checkpoint_id = w.checkpoint_id
    ORDER BY w.place, c.part;

    RETURN QUERY
    SELECT 'layout'::text, l.layout, NULL::timestamptz, NULL::text, NULL::bytea, NULL::bytea,
           l.body, NULL::bytea, NULL::text
    FROM checkpoint_layout l
    WHERE l.tenant = p_tenant AND l.layout <> ALL (p_layouts)
      AND l.layout IN (SELECT c.layout FROM unnest(v_nss, v_ids) AS w (checkpoint_ns, checkpoint_id)
                       JOIN checkpoint c
                         ON c.tenant = p_tenant AND c.thread_key = p_thread_key
                        AND c.checkpoint_ns = w.checkpoint_ns
                        AND c.checkpoint_id = w.checkpoint_id AND c.part = 0);

    RETURN QUERY
    SELECT 'entry'::text, e.seq, NULL::timestamptz, e.kind, e.digest, NULL::bytea, e.body,
           NULL::bytea, e.message_id
    FROM unnest(v_wanted) AS r (r)
    JOIN entry e
      ON e.tenant = p_tenant AND e.thread_key = p_thread_key
     AND e.seq >= lower(r.r) AND e.seq < upper(r.r);
END $$;
