-- What people and models said of the working state, and the life of each record.
--
-- What tool calls, messages and the agent's own update_state tell is read from the entries again
-- whenever it is needed; only what cannot be read from them is stored.

-- One row an event: what a model found in entries, or what a person changed. They are merged into
-- the state by number, each once; a number is given under the lock of the row in state_head, so
-- that a reader who has seen n has seen all below it.
CREATE TABLE state_head (
    tenant       text        NOT NULL,
    thread_key   uuid        NOT NULL,
    scope        text        NOT NULL DEFAULT '',
    events       bigint      NOT NULL DEFAULT 0,  -- the newest event's number
    -- A model reads entries in order, one reader at a time: whoever holds the claim.
    extracted    bigint      NOT NULL DEFAULT 0,  -- up to this entry
    claim        uuid,
    claimed_till timestamptz,
    attempts     integer     NOT NULL DEFAULT 0,  -- without success, from that entry on
    PRIMARY KEY (tenant, thread_key, scope),
    FOREIGN KEY (tenant, thread_key) REFERENCES thread ON DELETE CASCADE
);

CREATE TABLE state_event (
    tenant      text        NOT NULL,
    thread_key  uuid        NOT NULL,
    scope       text        NOT NULL DEFAULT '',
    number      bigint      NOT NULL,
    event_id    uuid        NOT NULL,  -- given by the writer: sent twice, it is one event
    at_seq      bigint      NOT NULL,  -- the newest entry it knows of
    sources     bigint[]    NOT NULL,  -- on a branch without these entries it does not count
    body        jsonb       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, thread_key, scope, number),
    FOREIGN KEY (tenant, thread_key) REFERENCES thread ON DELETE CASCADE
);
CREATE UNIQUE INDEX state_event_id ON state_event (tenant, thread_key, scope, event_id);

-- The state as the entries alone make it, after some of them: a long history is read once. Nothing is
-- lost with these rows.
CREATE TABLE state_fold (
    tenant      text        NOT NULL,
    thread_key  uuid        NOT NULL,
    scope       text        NOT NULL DEFAULT '',
    seen        bigint      NOT NULL,  -- the newest entry in it
    maker       bytea       NOT NULL,  -- a digest of what folded: code, redaction, start
    body        bytea       NOT NULL,  -- JSON, compressed
    PRIMARY KEY (tenant, thread_key, scope, seen),
    FOREIGN KEY (tenant, thread_key) REFERENCES thread ON DELETE CASCADE
);
ALTER TABLE state_fold ALTER COLUMN body SET STORAGE EXTERNAL;

-- What agents of a project know of each other: their states as last published, a row a record.
CREATE TABLE state_record (
    tenant      text        NOT NULL,
    thread_key  uuid        NOT NULL,
    scope       text        NOT NULL DEFAULT '',
    task_id     text        NOT NULL DEFAULT '',
    kind        text        NOT NULL,  -- file, step, decision, convention, question, definition, ...
    record_id   text        NOT NULL,
    project     text        NOT NULL DEFAULT '',
    status      text        NOT NULL,
    what        text        NOT NULL,
    why         text        NOT NULL DEFAULT '',
    sources     bigint[]    NOT NULL DEFAULT '{}',
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, thread_key, scope, task_id, kind, record_id),
    FOREIGN KEY (tenant, thread_key) REFERENCES thread ON DELETE CASCADE
);
CREATE INDEX state_record_project ON state_record (tenant, project, kind);

-- What holds for every agent of a project. Agents read it, people write it.
CREATE TABLE project_record (
    tenant      text        NOT NULL,
    project     text        NOT NULL,
    record_id   text        NOT NULL,
    kind        text        NOT NULL,
    what        text        NOT NULL,
    why         text        NOT NULL DEFAULT '',
    status      text        NOT NULL DEFAULT 'active',
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, project, record_id)
);

-- The states of a tenant's threads, for people and programs that ask by SQL.
CREATE VIEW working_state AS
SELECT r.tenant, t.thread_id, r.scope, nullif(r.task_id, '') AS task_id, nullif(r.project, '') AS project,
       r.kind, r.record_id, r.status, r.what, r.why, r.sources, r.updated_at
FROM state_record r
JOIN thread t ON t.tenant = r.tenant AND t.thread_key = r.thread_key
UNION ALL
SELECT tenant, NULL, NULL, NULL, project, kind, record_id, status, what, why, '{}', updated_at
FROM project_record;
