-- Long-term memory: the items of the store.
--
-- Namespaces are arrays in the order of their bytes, so that everything below a prefix is one range
-- of the key and no sibling is in it.

CREATE TABLE store_item (
    tenant      text        NOT NULL,
    namespace   text[]      COLLATE "C" NOT NULL,
    key         text        COLLATE "C" NOT NULL,
    item_id     uuid        NOT NULL,  -- a hash of the place, computed by the client
    value       jsonb       NOT NULL,  -- as langledger.memory.values writes it
    indexed     boolean     NOT NULL,  -- found by what it says
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    ttl         interval,              -- time to live since it was last read or written
    expires_at  timestamptz,           -- an item past it is gone, though its row may still be here
    PRIMARY KEY (tenant, namespace, key)
);
CREATE INDEX store_item_id ON store_item (tenant, item_id);
CREATE INDEX store_item_expiry ON store_item (tenant, expires_at) WHERE expires_at IS NOT NULL;

-- Pieces of the items' texts, as searches find them.
CREATE TABLE store_unit (
    tenant     text      NOT NULL,
    item_id    uuid      NOT NULL,
    part       integer   NOT NULL,
    size       integer   NOT NULL,  -- words
    terms      text[]    COLLATE "C" NOT NULL,
    counts     integer[] NOT NULL,  -- how often each term occurs
    model      text,                -- that made the embedding
    embedding  halfvec,             -- as long as the model makes them
    PRIMARY KEY (tenant, item_id, part)
);

-- Similarities, greater for what is closer. Parsed here, so that the operators are found wherever the
-- extension stands, and inlined later.
CREATE FUNCTION store_cosine(a halfvec, b text) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1 - (a <=> b::halfvec);

CREATE FUNCTION store_l2(a halfvec, b text) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN -(a <-> b::halfvec);

CREATE FUNCTION store_inner_product(a halfvec, b text) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN -(a <#> b::halfvec);

-- What was recalled for a user's message and shown before it, so that every process shows the same.
-- A compaction looks anew: what is shown is the last that was brought in the history at hand, which
-- a fork from before has not; nothing, where its body is empty.
CREATE TABLE brought (
    tenant      text   NOT NULL,
    thread_key  uuid   NOT NULL,
    scope       text   NOT NULL,
    seq         bigint NOT NULL,  -- the user's message
    seen        bigint NOT NULL,  -- the newest entry of the history then
    body        text   NOT NULL,
    PRIMARY KEY (tenant, thread_key, scope, seq, seen),
    FOREIGN KEY (tenant, thread_key) REFERENCES thread ON DELETE CASCADE
);
