-- Encryption at rest.
--
-- Content is encrypted by the client, under keys that never come here. What stands here is the key of
-- the hashes by which equal content is found again, itself encrypted under one of those keys.

-- state 'clear'       rows from before encryption hold digests and words in clear, and new ones do too
--       'converting'  these are being replaced; nothing else writes
--       'keyed'       every digest and word is a keyed hash
CREATE TABLE encryption_key (
    tenant      text        NOT NULL,
    sealed      bytea       NOT NULL,
    state       text        NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant)
);

SELECT secure_tables();
