-- Threads, entries and compactions.
--
-- Every key begins with the tenant, so that the tables shard by it unchanged. thread_key is a
-- 16-byte hash of the thread id, computed by the client: a statement can address a thread without
-- looking it up first, and rows stay narrow whatever the application's ids look like.
--
-- Deleting a thread's row deletes all that is the thread's. What a deletion in several statements
-- does not see, because another transaction made the thread anew between them, would be left behind.

CREATE TABLE thread (
    tenant      text        NOT NULL,
    thread_key  uuid        NOT NULL,
    thread_id   text        NOT NULL,
    next_seq    bigint      NOT NULL DEFAULT 1,  -- the seq the next message gets
    next_value  bigint      NOT NULL DEFAULT 1 << 30,  -- the seq any other entry gets
    -- Changes when entries are deleted: whoever remembers a seq must know that it still means the
    -- same. It starts from the clock, so that a thread made anew never repeats an old one's.
    generation  bigint      NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1e6)::bigint,
    user_id     text,
    metadata    jsonb       NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, thread_key)
) WITH (fillfactor = 70);

-- One row a message, complete and unchanged; the checkpointer's messages are the same rows.
--
-- kind 'message'  the thread's history
--      'draft'    a message without id that a checkpoint holds as input; it becomes the 'message'
--                 with this content when one with an id (or a history without ids) is recorded
--      'value'    a piece of another channel's value
--      'sealed'   a piece or message of a checkpointer that encrypts
--
-- kind 'reply' is given for what a task wrote without id: a 'draft' if nothing has its content.
--
-- Messages are numbered from 1, everything else (which has no role) from 2^30: a value that changes
-- between two messages does not part them, so that a list of messages, whatever else a graph holds,
-- stays the few runs of seqs that checkpoints, compactions and the index of recall write down.
--
-- (digest, occurrence) identifies the content, message_id left out of it: occurrence tells apart
-- equal messages with different ids, or equal messages without id at different places.
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
    refs        int8multirange,  -- of a value: seqs of the entries that it refers to
    body        bytea       NOT NULL,  -- compressed already: EXTERNAL spares the server a second try
    PRIMARY KEY (tenant, thread_key, seq),
    FOREIGN KEY (tenant, thread_key) REFERENCES thread ON DELETE CASCADE
);
CREATE UNIQUE INDEX entry_digest ON entry (tenant, thread_key, digest, occurrence);
CREATE INDEX entry_refs ON entry (tenant, thread_key, seq) WHERE refs IS NOT NULL;
ALTER TABLE entry ALTER COLUMN body SET STORAGE EXTERNAL;

-- Records items in order and returns the seq of each; the caller holds the thread's row.
--
-- place null   the content together with its message id is recorded once; without an id, any that
--              is there will do, but a draft is one only until it became a message: that may have
--              been recorded before the draft was, then it stands behind p_after (null: nothing does)
--       n      it is the n-th of this content, from 0, whatever its id
--       -1     it stands at the end, whatever is there
CREATE FUNCTION append_entries(
    p_tenant text, p_thread_key uuid, p_scope text, p_task_id text, p_user_id text,
    p_kinds text[], p_digests bytea[], p_places integer[], p_message_ids text[], p_roles text[],
    p_tokens integer[], p_metadata jsonb[], p_bodies bytea[], p_refs int8multirange[], p_after bigint
) RETURNS TABLE (seq bigint, fresh boolean)
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
    item     record;
    held     record;
    first    record;
    drafts   bigint[] := '{}';  -- what this call's drafts are: the same words again are another one
    messages bigint;  -- the seqs that the next ones get
    others   bigint;
    place    integer;
BEGIN
    SELECT next_seq, next_value INTO first FROM thread
    WHERE tenant = p_tenant AND thread_key = p_thread_key;
    messages := first.next_seq;
    others := first.next_value;
    -- Reading a row of a full page makes PostgreSQL clear it of dead versions (of drafts that became
    -- messages) while new rows still go there. It is asked for in order, so that the primary key is
    -- used: before a table is first analysed, PostgreSQL takes entry_digest to be as good.
    PERFORM FROM entry
    WHERE tenant = p_tenant AND thread_key = p_thread_key AND seq < messages AND body IS NOT NULL
    ORDER BY seq DESC LIMIT 1;
    FOR item IN
        SELECT * FROM unnest(p_kinds, p_digests, p_places, p_message_ids, p_roles, p_tokens,
                             p_metadata, p_bodies, p_refs) WITH ORDINALITY
            AS i (kind, digest, place, message_id, role, tokens, metadata, body, refs, ord)
        ORDER BY ord
    LOOP
        SELECT e.seq, e.kind, e.tokens INTO held FROM entry e
        WHERE e.tenant = p_tenant AND e.thread_key = p_thread_key AND e.digest = item.digest
          AND CASE WHEN item.place IS NOT NULL THEN e.occurrence = item.place
                   WHEN item.message_id IS NULL
                   THEN item.kind <> 'draft' OR e.kind = 'draft' OR e.seq > p_after
                   ELSE e.message_id = item.message_id OR e.kind = 'draft' END
          AND (item.kind <> 'draft' OR e.seq <> ALL (drafts))
        ORDER BY e.message_id IS NOT DISTINCT FROM item.message_id DESC, e.occurrence
        LIMIT 1;
        IF NOT FOUND THEN
            IF item.role IS NULL THEN
                seq := others;
                others := others + 1;
            ELSE
                seq := messages;
                messages := messages + 1;
            END IF;
            place := item.place;
            IF place IS NULL OR place < 0 THEN
                SELECT coalesce(max(e.occurrence) + 1, 0) INTO place FROM entry e
                WHERE e.tenant = p_tenant AND e.thread_key = p_thread_key
                  AND e.digest = item.digest;
            END IF;
            INSERT INTO entry (tenant, thread_key, seq, digest, occurrence, tokens, kind, role,
                               message_id, task_id, user_id, scope, metadata, refs, body)
            VALUES (p_tenant, p_thread_key, seq, item.digest,
                    place, item.tokens, CASE WHEN item.kind = 'reply' THEN 'draft' ELSE item.kind END,
                    item.role, item.message_id, p_task_id, p_user_id,
                    p_scope, item.metadata, item.refs, item.body);
            fresh := true;
        ELSE
            seq := held.seq;
            fresh := held.kind = 'draft' AND item.kind NOT IN ('draft', 'reply');
            IF fresh THEN
                UPDATE entry e
                SET kind = item.kind, message_id = item.message_id, tokens = item.tokens,
                    task_id = p_task_id, user_id = p_user_id, metadata = item.metadata
                WHERE e.tenant = p_tenant AND e.thread_key = p_thread_key AND e.digest = item.digest
                  AND e.seq = held.seq;
            ELSIF held.tokens IS NULL AND item.tokens IS NOT NULL THEN  -- its writer did not count
                UPDATE entry e SET tokens = item.tokens
                WHERE e.tenant = p_tenant AND e.thread_key = p_thread_key AND e.digest = item.digest
                  AND e.seq = held.seq;
            END IF;
        END IF;
        IF item.kind = 'draft' THEN
            drafts := drafts || seq;
        END IF;
        RETURN NEXT;
    END LOOP;
    IF messages > first.next_seq OR others > first.next_value THEN
        UPDATE thread SET next_seq = messages, next_value = others
        WHERE tenant = p_tenant AND thread_key = p_thread_key;
    END IF;
END $$;

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
    seen        bigint         NOT NULL,  -- the newest entry there was when it was made
    view        bytea          NOT NULL,  -- what the view is assembled from: summary, state, pins
    report      jsonb          NOT NULL,  -- numbers and identifiers only
    created_at  timestamptz    NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, thread_key, scope, generation),
    FOREIGN KEY (tenant, thread_key) REFERENCES thread ON DELETE CASCADE
);

-- What every view after a compaction shows. A forgotten entry takes its pin with it.
CREATE TABLE pin (
    tenant      text        NOT NULL,
    thread_key  uuid        NOT NULL,
    pin_id      integer     NOT NULL,  -- from 1 in each thread
    seq         bigint,                -- the entry whose text it is; null: a text of its own
    digest      bytea       NOT NULL,  -- of the seq or text: nothing is pinned twice
    priority    integer     NOT NULL,
    said_by     text        NOT NULL,
    text        text        NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, thread_key, pin_id),
    FOREIGN KEY (tenant, thread_key) REFERENCES thread ON DELETE CASCADE,
    FOREIGN KEY (tenant, thread_key, seq) REFERENCES entry ON DELETE CASCADE
);
CREATE UNIQUE INDEX pin_digest ON pin (tenant, thread_key, digest);
CREATE INDEX pin_seq ON pin (tenant, thread_key, seq);

-- Summaries of pieces of history by content, so that a retry does not pay the model twice.
CREATE TABLE summary_cache (
    tenant      text        NOT NULL,
    digest      bytea       NOT NULL,
    summary     text        NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, digest)
);
