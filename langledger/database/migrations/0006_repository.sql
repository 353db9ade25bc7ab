-- Repositories: files, chunks, symbols and what refers to what.
--
-- Everything read from a file hangs on its content (blob), not on its path: worktrees, branches and
-- renamed files share chunks and symbols. A worktree says which content is at which path.

CREATE TABLE repository (
    tenant      text        NOT NULL,
    repository  uuid        NOT NULL,  -- a hash of its name, computed by the client
    name        text        NOT NULL,  -- the git directory that worktrees share, a folder, or a given name
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, repository)
);

CREATE TABLE repository_worktree (
    tenant      text        NOT NULL,
    repository  uuid        NOT NULL,
    worktree    uuid        NOT NULL,  -- a hash of its root, computed by the client
    root        text        NOT NULL,
    branch      text,                  -- null: no git, or a detached HEAD
    commit      text,                  -- HEAD when it was last indexed to the end
    indexed_at  timestamptz,           -- when that was; null: never to the end
    PRIMARY KEY (tenant, repository, worktree),
    FOREIGN KEY (tenant, repository) REFERENCES repository ON DELETE CASCADE
);

-- The content of a file. blob is a hash of language and bytes (and of the parser's version, so that
-- a better one reads all files again). Places count in body, which is the text in UTF-8.
CREATE TABLE repository_blob (
    tenant      text     NOT NULL,
    repository  uuid     NOT NULL,
    blob        uuid     NOT NULL,
    language    text     NOT NULL,
    encoding    text     NOT NULL,  -- of the file; places are the file's own where it is utf-8
    lines       integer  NOT NULL,
    tokens      integer  NOT NULL,
    imports     jsonb    NOT NULL,  -- [[module, name or "", alias, line], ...]
    fault       text,               -- what of it could not be parsed, and why
    body        bytea    NOT NULL,  -- compressed as an entry's
    PRIMARY KEY (tenant, repository, blob),
    FOREIGN KEY (tenant, repository) REFERENCES repository ON DELETE CASCADE
);
ALTER TABLE repository_blob ALTER COLUMN body SET STORAGE EXTERNAL;

-- One row a path. A file that is not indexed says why in fault and has no blob.
CREATE TABLE repository_file (
    tenant      text        NOT NULL,
    repository  uuid        NOT NULL,
    worktree    uuid        NOT NULL,
    path        text        COLLATE "C" NOT NULL,  -- below the root, with /
    blob        uuid,
    is_test     boolean     NOT NULL,
    stamp       bytea       NOT NULL,  -- hash of size, times and inode: unchanged, it is not read again
    terms       tsvector    NOT NULL,  -- of the path
    fault       text,
    changed_at  timestamptz NOT NULL DEFAULT now(),  -- when another content was found here
    PRIMARY KEY (tenant, repository, worktree, path),
    FOREIGN KEY (tenant, repository, worktree) REFERENCES repository_worktree ON DELETE CASCADE,
    FOREIGN KEY (tenant, repository, blob) REFERENCES repository_blob
);
CREATE INDEX repository_file_blob ON repository_file (tenant, repository, blob, worktree);

-- Chunks of a content follow each other without gap or overlap: together they are the whole body.
CREATE TABLE repository_chunk (
    tenant      text     NOT NULL,
    repository  uuid     NOT NULL,
    blob        uuid     NOT NULL,
    chunk       integer  NOT NULL,  -- from 0, in the order of their places
    symbol      integer  NOT NULL,  -- the innermost definition around it; 0: the file itself
    start_byte  integer  NOT NULL,
    end_byte    integer  NOT NULL,  -- exclusive
    start_line  integer  NOT NULL,  -- from 1
    end_line    integer  NOT NULL,  -- inclusive
    tokens      integer  NOT NULL,
    size        integer  NOT NULL,  -- words
    -- Made by langledger.repository.terms; of weight A: what the definition is called.
    terms       tsvector NOT NULL,
    PRIMARY KEY (tenant, repository, blob, chunk),
    FOREIGN KEY (tenant, repository, blob) REFERENCES repository_blob ON DELETE CASCADE
);
CREATE INDEX repository_chunk_terms ON repository_chunk USING gin (terms);
ALTER TABLE repository_chunk ALTER COLUMN terms SET STATISTICS 500;
ALTER TABLE repository_chunk ALTER COLUMN terms SET STORAGE MAIN;

-- Definitions, with what each refers to. Whom a name means is found out when it is asked
-- (langledger.repository.graph): a changed file then changes its own rows and no others.
CREATE TABLE repository_symbol (
    tenant         text      NOT NULL,
    repository     uuid      NOT NULL,
    blob           uuid      NOT NULL,
    symbol         integer   NOT NULL,  -- 0: the file itself; then in the order of their places
    parent         integer,             -- the definition around it; null: none, it is the file
    kind           text      NOT NULL,  -- file, class, function, method, type, variable, section, ...
    name           text      NOT NULL,
    qualified      text      NOT NULL,  -- within the file: Class.method
    start_byte     integer   NOT NULL,
    end_byte       integer   NOT NULL,
    start_line     integer   NOT NULL,
    end_line       integer   NOT NULL,
    signature      text      NOT NULL,
    -- Parallel arrays, an item a reference: its kind (call, inherit, use), the name, what stands
    -- before the name's last dot, and the first line.
    ref_kinds      text[]    NOT NULL,
    ref_names      text[]    NOT NULL,
    ref_receivers  text[]    NOT NULL,
    ref_lines      integer[] NOT NULL,
    PRIMARY KEY (tenant, repository, blob, symbol),
    FOREIGN KEY (tenant, repository, blob) REFERENCES repository_blob ON DELETE CASCADE
);
CREATE INDEX repository_symbol_name ON repository_symbol (tenant, repository, name);
CREATE INDEX repository_symbol_refs ON repository_symbol USING gin (ref_names);

-- Calls that were seen at run time, which no reading of a dynamic language finds.
CREATE TABLE repository_trace (
    tenant       text        NOT NULL,
    repository   uuid        NOT NULL,
    edge         uuid        NOT NULL,  -- a hash of the four columns that follow
    source_path  text        NOT NULL,
    source_name  text        NOT NULL,  -- qualified, as of a symbol
    target_path  text        NOT NULL,
    target_name  text        NOT NULL,
    times        bigint      NOT NULL,
    seen_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, repository, edge),
    FOREIGN KEY (tenant, repository) REFERENCES repository ON DELETE CASCADE
);
CREATE INDEX repository_trace_source ON repository_trace (tenant, repository, source_path);
CREATE INDEX repository_trace_target ON repository_trace (tenant, repository, target_path);
