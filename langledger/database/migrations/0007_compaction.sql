-- What people and agents have to say about compactions: that one is wanted, and what one is to say.

-- Compact before the next model call, whatever the size. Gone once that was tried.
CREATE TABLE compaction_request (
    tenant      text        NOT NULL,
    thread_key  uuid        NOT NULL,
    scope       text        NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, thread_key, scope),
    FOREIGN KEY (tenant, thread_key) REFERENCES thread ON DELETE CASCADE
);

-- Compactions that a person reviews before they are applied. A graph that waits for the answer runs
-- the node again from its start then, maybe in another process: it must find what was reviewed, and
-- ask nothing again that was answered.
CREATE TABLE compaction_draft (
    tenant      text        NOT NULL,
    thread_key  uuid        NOT NULL,
    scope       text        NOT NULL DEFAULT '',
    task        text        NOT NULL,  -- the graph's task that waits
    place       integer     NOT NULL,  -- of the question among the task's, from 0
    decided     boolean     NOT NULL DEFAULT false,
    view        bytea,                 -- the compaction; gone once decided
    report      jsonb       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, thread_key, scope, task, place),
    FOREIGN KEY (tenant, thread_key) REFERENCES thread ON DELETE CASCADE
);
