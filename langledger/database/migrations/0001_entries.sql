-- Threads, entries and compactions.
--
-- Every key begins with the tenant, so that the tables shard by it unchanged. thread_key is a
-- 16-byte hash of the thread id, computed by the client: a statement can address a thread without
-- looking it up first, and rows stay narrow whatever the application's ids look like.

CREATE TABLE thread (
    tenant      text        NOT NULL,
    thread_key  uuid        NOT NULL,
    thread_id   text        NOT NULL,
    next_seq    bigint      NOT NULL DEFAULT 1,  -- the seq the next entry gets
    user_id     text,
    metadata    jsonb       NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, thread_key)
) WITH (fillfactor = 70);

-- One row a message, complete and unchanged. The checkpointer's list items are the same rows.
-- kind 'message' rows are the thread's history; 'value' rows are items of other channels.
-- (digest, occurrence) identifies content: occurrence counts equal messages that carry no id.
CREATE TABLE entry (
    tenant      text        NOT NULL,
    thread_key  uuid        NOT NULL,
    seq         bigint      NOT NULL,
    digest      bytea       NOT NULL,
    occurrence  integer     NOT NULL DEFAULT 0,
    tokens      integer,
    created_at  timestamptz NOT NULL DEFAULT now(),
    kind        text        NOT NULL DEFAULT 'message',
    role        text,
    message_id  text,
    task_id     text,
    user_id     text,
    scope       text,       -- checkpoint namespace without task ids, and agent; null: the root
    metadata    jsonb,
    body        bytea       NOT NULL,
    PRIMARY KEY (tenant, thread_key, seq)
);
CREATE UNIQUE INDEX entry_digest ON entry (tenant, thread_key, digest, occurrence);

-- One row an event that replaced part of a view. The primary key is the compare-and-set: two
-- writers that both build on generation n cannot both insert n + 1.
CREATE TABLE compaction (
    tenant      text           NOT NULL,
    thread_key  uuid           NOT NULL,
    scope       text           NOT NULL DEFAULT '',
    generation  integer        NOT NULL,
    covered     int8multirange NOT NULL,  -- seqs the summary stands for
    masked      int8multirange NOT NULL,  -- seqs of tool results shown as references
    boundary    bigint         NOT NULL,  -- the last seq covered or masked
    view        bytea          NOT NULL,  -- what the view is assembled from: summary, state, pins
    report      jsonb          NOT NULL,  -- numbers and identifiers only
    created_at  timestamptz    NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, thread_key, scope, generation)
);

-- Summaries of pieces of history by content, so that a retry does not pay the model twice.
CREATE TABLE summary_cache (
    tenant      text        NOT NULL,
    digest      bytea       NOT NULL,
    summary     text        NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, digest)
);
