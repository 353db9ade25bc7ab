-- Units of entries as recall finds them: words, identifiers and vectors.
--
-- space is a thread's key, or a number that another feature (the store) made for its own texts; ref is
-- the entry's seq, or that feature's own number; part is the unit's place within it.

-- What of a space is indexed. done of a thread holds the seqs that were looked at; a draft is left out
-- until it is a message, so that it is indexed then.
CREATE TABLE recall_space (
    tenant  text            NOT NULL,
    space   uuid            NOT NULL,
    done    int8multirange  NOT NULL DEFAULT '{}',
    units   bigint          NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, space)
);

-- terms are made by langledger.recall.analysis; those that begin with < are of the messages before.
CREATE TABLE recall_unit (
    tenant      text         NOT NULL,
    space       uuid         NOT NULL,
    ref         bigint       NOT NULL,
    part        integer      NOT NULL,
    size        integer      NOT NULL,  -- words
    importance  real         NOT NULL DEFAULT 0.5,
    created_at  timestamptz  NOT NULL DEFAULT now(),
    said_at     timestamptz,            -- of what was said before it was recorded
    digest      bytea        NOT NULL,  -- of the text
    role        text,
    message_id  text,
    task_id     text,
    user_id     text,
    tags        text[]       NOT NULL DEFAULT '{}',
    metadata    jsonb        NOT NULL DEFAULT '{}',
    terms       tsvector     NOT NULL,
    body        bytea        NOT NULL,  -- the text, compressed as an entry's
    is_entry    boolean      NOT NULL DEFAULT true,
    asked       boolean      NOT NULL DEFAULT false,  -- the tag model was asked about it
    PRIMARY KEY (tenant, space, ref, part)
);
CREATE INDEX recall_terms ON recall_unit USING gin (terms) WITH (gin_pending_list_limit = 1024);
ALTER TABLE recall_unit ALTER COLUMN terms SET STATISTICS 500;
ALTER TABLE recall_unit ALTER COLUMN terms SET STORAGE MAIN;
ALTER TABLE recall_unit ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE recall_model (
    tenant      text     NOT NULL,
    model       integer  NOT NULL,  -- from 1
    name        text     NOT NULL,
    dimensions  integer  NOT NULL,
    PRIMARY KEY (tenant, model),
    UNIQUE (tenant, name)
);

-- Beside the units, because they come later; a text that could not be embedded has a fault instead.
CREATE TABLE recall_vector (
    tenant     text     NOT NULL,
    space      uuid     NOT NULL,
    ref        bigint   NOT NULL,
    part       integer  NOT NULL,
    model      integer  NOT NULL,
    digest     bytea    NOT NULL,
    embedding  halfvec,
    is_entry   boolean  NOT NULL DEFAULT true,
    fault      text,
    PRIMARY KEY (tenant, space, ref, part, model),
    FOREIGN KEY (tenant, space, ref, part)
        REFERENCES recall_unit (tenant, space, ref, part) ON DELETE CASCADE
);
CREATE INDEX recall_vector_digest ON recall_vector (tenant, digest, model);
ALTER TABLE recall_vector ALTER COLUMN embedding SET STORAGE PLAIN;

-- What was given to somebody, and when last.
CREATE TABLE recall_use (
    tenant   text         NOT NULL,
    space    uuid         NOT NULL,
    ref      bigint       NOT NULL,
    part     integer      NOT NULL,
    times    integer      NOT NULL,
    last_at  timestamptz  NOT NULL,
    PRIMARY KEY (tenant, space, ref, part),
    FOREIGN KEY (tenant, space, ref, part)
        REFERENCES recall_unit (tenant, space, ref, part) ON DELETE CASCADE
) WITH (fillfactor = 80);

-- Parsed here, so that the operator is found wherever the extension stands, and inlined later.
CREATE FUNCTION recall_distance(a halfvec, b text) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN a <=> b::halfvec;

CREATE FUNCTION recall_vector_of(a text) RETURNS halfvec
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN a::halfvec;

-- The nearest of a tenant by its partial HNSW index, which only literals match.
CREATE FUNCTION recall_nearest(
    p_tenant text, p_model integer, p_dimensions integer, p_query text, p_limit integer
) RETURNS TABLE (space uuid, ref bigint, part integer, distance double precision)
LANGUAGE plpgsql STABLE SET search_path FROM CURRENT SET hnsw.ef_search = 120 AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT space, ref, part, embedding::halfvec(%s) <=> %L::halfvec(%s) FROM recall_vector
         WHERE tenant = %L AND model = %s ORDER BY 4 LIMIT %s',
        p_dimensions, p_query, p_dimensions, p_tenant, p_model, p_limit);
END $$;

-- What is deleted is no longer found, whoever deletes it. One tenant after the other, though it is
-- one mostly: named so, it is looked for in its own partition alone.
CREATE FUNCTION recall_forget_entries() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text;
BEGIN
    FOR v_tenant IN SELECT DISTINCT g.tenant FROM gone g LOOP
        DELETE FROM recall_unit u USING gone g
        WHERE u.tenant = v_tenant AND u.tenant = g.tenant AND u.space = g.thread_key AND u.ref = g.seq;
    END LOOP;
    RETURN NULL;
END $$;
CREATE TRIGGER recall_forget AFTER DELETE ON entry
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION recall_forget_entries();

CREATE FUNCTION recall_forget_threads() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM recall_space s USING gone g
    WHERE s.tenant = g.tenant AND s.space = g.thread_key;
    RETURN NULL;
END $$;
CREATE TRIGGER recall_forget AFTER DELETE ON thread
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION recall_forget_threads();
