-- LangGraph checkpoints.
--
-- A checkpoint says which entries its channels are made of. It is complete in itself: reading,
-- forking and deleting one never needs its ancestors. It takes about a hundred bytes, less than a
-- row and its place in an index would take beside it, so that a row holds a stretch of them:
-- the log of one namespace from first_id up to the next row's.

-- log is append-only but for pruning: records of checkpoints and of the writes pending on them, as
-- langledger.checkpoint.records packs them, the seqs of the entries that were new before each.
-- What belongs to a stretch that is full goes to its next part, so that a thousand parallel tasks
-- do not rewrite one row a thousand times.
CREATE TABLE checkpoint (
    part          integer        NOT NULL,
    tenant        text           NOT NULL,
    thread_key    uuid           NOT NULL,
    checkpoint_ns text           NOT NULL,
    first_id      bytea          NOT NULL,  -- 16 bytes where it is a UUID; in its order
    last_id       bytea          NOT NULL,  -- the greatest in any part so far
    refs          int8multirange NOT NULL,  -- seqs of the entries that log refers to
    snapshots     text[],                   -- delta channels stored whole in it; null: has none at all
    run_ids       text[],                   -- runs that made its checkpoints, where known
    log           bytea          NOT NULL,
    PRIMARY KEY (tenant, thread_key, checkpoint_ns, first_id, part),
    FOREIGN KEY (tenant, thread_key) REFERENCES thread ON DELETE CASCADE
);
CREATE INDEX checkpoint_runs ON checkpoint USING gin (run_ids) WHERE run_ids IS NOT NULL;
ALTER TABLE checkpoint ALTER COLUMN log SET STORAGE EXTERNAL;

-- Names of channels, nodes and metadata keys, which are the same from step to step: stored once.
CREATE TABLE checkpoint_layout (
    tenant  text     NOT NULL,
    layout  integer  NOT NULL,  -- from 1
    digest  bytea    NOT NULL,  -- of body
    body    bytea    NOT NULL,
    PRIMARY KEY (tenant, layout),
    UNIQUE (tenant, digest)
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

-- Writes new entries, and the record of a checkpoint or of pending writes made of them: one
-- statement, one transaction, nobody else's rows touched.
--
-- p_record refers to new entries by their place in p_kinds..., at most 255; the seqs they got are put
-- before it: a count of one byte, then four bytes each. p_after is the newest message that the
-- checkpoint's state knows, behind which its drafts may stand as messages already. p_generation is what the writer's own seqs were
-- learned under; if entries were deleted since, nothing is written, seqs is null, and the writer
-- starts over. With p_wait false, a thread that another transaction holds is left alone: generation
-- is null.
CREATE FUNCTION record_checkpoint(
    p_tenant text, p_thread_key uuid, p_thread_id text, p_generation bigint, p_wait boolean,
    p_scope text, p_kinds text[], p_digests bytea[], p_message_ids text[], p_roles text[],
    p_bodies bytea[], p_item_refs int8multirange[],
    p_checkpoint_ns text, p_checkpoint_id bytea, p_run_id text, p_snapshots text[],
    p_refs int8multirange, p_record bytea, p_after bigint,
    OUT generation bigint, OUT seqs bigint[]
) LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    -- So that a page holds several rows and the versions they leave behind, and is cleared of those
    -- in time. From 2 kB on PostgreSQL would also move the log out of the row.
    c_full    constant integer := 1000;
    v_refs    int8multirange := p_refs;
    v_record  bytea := '\x00';
    v_stretch record;
BEGIN
    IF NOT p_wait THEN
        PERFORM FROM thread t WHERE t.tenant = p_tenant AND t.thread_key = p_thread_key
        FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            PERFORM FROM thread t WHERE t.tenant = p_tenant AND t.thread_key = p_thread_key;
            IF FOUND THEN
                RETURN;
            END IF;
        END IF;
    END IF;
    UPDATE thread t SET updated_at = now()
    WHERE t.tenant = p_tenant AND t.thread_key = p_thread_key
    RETURNING t.generation INTO generation;
    IF NOT FOUND THEN
        INSERT INTO thread AS t (tenant, thread_key, thread_id)
        VALUES (p_tenant, p_thread_key, p_thread_id)
        ON CONFLICT (tenant, thread_key) DO UPDATE SET updated_at = excluded.updated_at
        RETURNING t.generation INTO generation;
    END IF;
    IF p_generation <> generation THEN
        RETURN;
    END IF;

    seqs := '{}';
    IF cardinality(p_kinds) > 0 THEN
        SELECT array_agg(a.seq ORDER BY a.ord),
               v_refs + range_agg(int8range(a.seq, a.seq, '[]')),
               substr(int2send(count(*)::int2), 2) || string_agg(int4send(a.seq::int), '' ORDER BY a.ord)
        INTO seqs, v_refs, v_record
        FROM append_entries(p_tenant, p_thread_key, p_scope, NULL, NULL, p_kinds, p_digests,
                            NULL, p_message_ids, p_roles, NULL, NULL, p_bodies, p_item_refs,
                            p_after)
             WITH ORDINALITY AS a (seq, fresh, ord);
    END IF;
    IF p_record IS NULL THEN
        RETURN;
    END IF;

    v_record := v_record || p_record;
    SELECT c.first_id, c.part, c.last_id, octet_length(c.log) AS size INTO v_stretch
    FROM checkpoint c
    WHERE c.tenant = p_tenant AND c.thread_key = p_thread_key
      AND c.checkpoint_ns = p_checkpoint_ns AND c.first_id <= p_checkpoint_id
    ORDER BY c.first_id DESC, c.part DESC LIMIT 1;
    IF FOUND AND v_stretch.size + octet_length(v_record) <= c_full THEN
        UPDATE checkpoint c
        SET last_id = greatest(c.last_id, p_checkpoint_id),
            refs = c.refs + v_refs,
            snapshots = CASE WHEN p_snapshots IS NULL OR c.snapshots @> p_snapshots
                             THEN c.snapshots
                             ELSE coalesce(c.snapshots, '{}') || p_snapshots END,
            run_ids = CASE WHEN p_run_id IS NULL OR p_run_id = ANY (c.run_ids) THEN c.run_ids
                           ELSE c.run_ids || p_run_id END,
            -- A call that is repeated leaves what one call leaves.
            log = CASE WHEN substr(c.log, greatest(1, v_stretch.size - octet_length(v_record) + 1))
                            = v_record
                       THEN c.log ELSE c.log || v_record END
        WHERE c.tenant = p_tenant AND c.thread_key = p_thread_key
          AND c.checkpoint_ns = p_checkpoint_ns AND c.first_id = v_stretch.first_id
          AND c.part = v_stretch.part;
    ELSIF v_stretch.last_id >= p_checkpoint_id THEN
        INSERT INTO checkpoint (part, tenant, thread_key, checkpoint_ns, first_id, last_id, refs,
                                snapshots, run_ids, log)
        VALUES (v_stretch.part + 1, p_tenant, p_thread_key, p_checkpoint_ns, v_stretch.first_id,
                v_stretch.last_id, v_refs, p_snapshots,
                CASE WHEN p_run_id IS NOT NULL THEN ARRAY[p_run_id] END, v_record);
    ELSE
        INSERT INTO checkpoint (part, tenant, thread_key, checkpoint_ns, first_id, last_id, refs,
                                snapshots, run_ids, log)
        VALUES (0, p_tenant, p_thread_key, p_checkpoint_ns, p_checkpoint_id, p_checkpoint_id, v_refs,
                p_snapshots, CASE WHEN p_run_id IS NOT NULL THEN ARRAY[p_run_id] END, v_record);
    END IF;
END $$;

-- Reads stretches of a thread's checkpoints, and the entries they refer to that the reader does not
-- have, in one statement.
--
-- Which: those that hold the checkpoints p_nss and p_ids, pairwise; or the newest p_limit of
-- p_checkpoint_ns that begin before p_before; or, with p_channels, of the latter as many as it takes
-- to find each of these delta channels stored whole. With p_checkpoint_ns null, those of any namespace
-- that end last. p_have are the seqs that the reader has,
-- learned under p_generation; null: it wants no entries.
--
-- Rows are asked for in order one by one, so that the primary key is used also while the tables were
-- not analysed yet: a join would then read all there is of the thread.
CREATE FUNCTION read_checkpoints(
    p_tenant text, p_thread_key uuid, p_generation bigint, p_have int8multirange,
    p_nss text[], p_ids bytea[], p_checkpoint_ns text, p_before bytea, p_limit integer,
    p_channels text[]
) RETURNS TABLE (
    what text, number bigint, name text, id bytea, last_id bytea, body bytea, message_id text
) LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    v_nss        text[];
    v_ids        bytea[];
    v_generation bigint;
    v_wanted     int8multirange;
BEGIN
    SELECT t.generation INTO v_generation FROM thread t
    WHERE t.tenant = p_tenant AND t.thread_key = p_thread_key;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT 'thread', v_generation, NULL, NULL::bytea, NULL::bytea, NULL::bytea, NULL;

    IF p_ids IS NOT NULL THEN
        SELECT array_agg(s.checkpoint_ns), array_agg(s.first_id) INTO v_nss, v_ids
        FROM (
            SELECT DISTINCT w.checkpoint_ns, h.first_id
            FROM unnest(p_nss, p_ids) AS w (checkpoint_ns, checkpoint_id)
            CROSS JOIN LATERAL (
                SELECT c.first_id FROM checkpoint c
                WHERE c.tenant = p_tenant AND c.thread_key = p_thread_key
                  AND c.checkpoint_ns = w.checkpoint_ns AND c.first_id <= w.checkpoint_id
                ORDER BY c.first_id DESC LIMIT 1
            ) AS h
        ) AS s;
    ELSIF p_checkpoint_ns IS NULL THEN
        SELECT array_agg(s.checkpoint_ns), array_agg(s.first_id) INTO v_nss, v_ids
        FROM (
            SELECT c.checkpoint_ns, c.first_id FROM checkpoint c
            WHERE c.tenant = p_tenant AND c.thread_key = p_thread_key
              AND (p_before IS NULL OR c.first_id < p_before)
            GROUP BY c.checkpoint_ns, c.first_id
            ORDER BY (array_agg(c.last_id ORDER BY c.last_id DESC))[1] DESC LIMIT p_limit
        ) AS s;
    ELSE
        SELECT array_agg(p_checkpoint_ns), array_agg(s.first_id) INTO v_nss, v_ids
        FROM (
            SELECT c.first_id, count(*) FILTER (WHERE c.snapshots @> p_channels) OVER newer AS whole
            FROM checkpoint c
            WHERE c.tenant = p_tenant AND c.thread_key = p_thread_key
              AND c.checkpoint_ns = p_checkpoint_ns AND c.part = 0
              AND (p_before IS NULL OR c.first_id < p_before)
            WINDOW newer AS (ORDER BY c.first_id DESC
                             ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
            ORDER BY c.first_id DESC LIMIT p_limit
        ) AS s
        WHERE p_channels IS NULL OR s.whole = 0;
    END IF;

    RETURN QUERY
    SELECT 'stretch', NULL::bigint, c.checkpoint_ns, c.first_id, c.last_id, c.log, NULL
    FROM unnest(v_nss, v_ids) AS w (checkpoint_ns, first_id)
    CROSS JOIN LATERAL (
        SELECT * FROM checkpoint c
        WHERE c.tenant = p_tenant AND c.thread_key = p_thread_key
          AND c.checkpoint_ns = w.checkpoint_ns AND c.first_id = w.first_id
        ORDER BY c.part
    ) AS c
    ORDER BY c.first_id DESC, c.checkpoint_ns DESC, c.part;

    IF p_have IS NULL THEN
        RETURN;
    END IF;
    SELECT range_agg(r.r) INTO v_wanted
    FROM unnest(v_nss, v_ids) AS w (checkpoint_ns, first_id)
    CROSS JOIN LATERAL (
        SELECT c.refs FROM checkpoint c
        WHERE c.tenant = p_tenant AND c.thread_key = p_thread_key
          AND c.checkpoint_ns = w.checkpoint_ns AND c.first_id = w.first_id
        ORDER BY c.part
    ) AS c
    CROSS JOIN unnest(c.refs) AS r (r);
    SELECT v_wanted + coalesce(range_agg(n.n), '{}') INTO v_wanted
    FROM unnest(v_wanted) AS r (r)
    CROSS JOIN LATERAL (
        SELECT e.refs FROM entry e
        WHERE e.tenant = p_tenant AND e.thread_key = p_thread_key AND e.refs IS NOT NULL
          AND e.seq >= lower(r.r) AND e.seq < upper(r.r)
        ORDER BY e.seq
    ) AS e
    CROSS JOIN unnest(e.refs) AS n (n);
    IF v_generation = p_generation THEN
        v_wanted := v_wanted - p_have;
    END IF;
    RETURN QUERY
    SELECT 'entry', e.seq, e.kind, e.digest, NULL::bytea, e.body, e.message_id
    FROM unnest(v_wanted) AS r (r)
    CROSS JOIN LATERAL (
        SELECT e.* FROM entry e
        WHERE e.tenant = p_tenant AND e.thread_key = p_thread_key
          AND e.seq >= lower(r.r) AND e.seq < upper(r.r)
        ORDER BY e.seq
    ) AS e;
END $$;

-- Removes a thread's entries of these kinds that no checkpoint refers to; returns how many. Nothing of
-- a thread that is made only now: its writer may be about to refer to what it has written.
CREATE FUNCTION collect_entries(p_tenant text, p_thread_key uuid, p_kinds text[]) RETURNS bigint
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    v_removed bigint;
BEGIN
    UPDATE thread SET generation = generation + 1
    WHERE tenant = p_tenant AND thread_key = p_thread_key;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    WITH held AS (
        SELECT range_agg(r.r) AS seqs
        FROM checkpoint c, unnest(c.refs) AS r (r)
        WHERE c.tenant = p_tenant AND c.thread_key = p_thread_key
    ), used AS (
        SELECT range_agg(r.r) AS seqs
        FROM (
            SELECT seqs AS refs FROM held
            UNION ALL
            SELECT e.refs FROM entry e
            WHERE e.tenant = p_tenant AND e.thread_key = p_thread_key AND e.refs IS NOT NULL
              AND e.seq <@ (SELECT seqs FROM held)
        ) AS u, unnest(u.refs) AS r (r)
    )
    DELETE FROM entry e
    WHERE e.tenant = p_tenant AND e.thread_key = p_thread_key AND e.kind = ANY (p_kinds)
      -- What has a role is a message, sealed or not.
      AND (e.kind <> 'sealed' OR e.role IS NULL OR 'message' = ANY (p_kinds))
      AND NOT coalesce(e.seq <@ (SELECT seqs FROM used), false);
    GET DIAGNOSTICS v_removed = ROW_COUNT;
    RETURN v_removed;
END $$;
