-- Row-level security, and receipts of what was forgotten.

-- What was forgotten: who asked, when, and how many rows of which table; nothing of what they said.
CREATE TABLE forget_receipt (
    tenant        text        NOT NULL,
    receipt_id    uuid        NOT NULL,
    part          integer     NOT NULL DEFAULT 0,  -- a user's threads and items, then each other thread
    what          text        NOT NULL,  -- tenant, user, thread, entry or retention
    subject       text        NOT NULL,  -- the id that was given; of entries the thread's
    requested_by  text,
    counts        jsonb       NOT NULL,  -- rows by table
    created_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, receipt_id, part)
);

-- Puts every table with a tenant under row-level security: a role that does not own it sees and
-- writes the rows of the tenant that its transaction names (SET LOCAL langledger.tenant), and where
-- none is named its statement fails, or sees nothing. With p_force, or where that was done before,
-- the owner too. A migration that makes a table calls it.
CREATE FUNCTION secure_tables(p_force boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    v_schema oid := (SELECT n.oid FROM pg_namespace n WHERE n.nspname = current_schema());
    v_force  boolean;
    v_table  record;
BEGIN
    SELECT p_force OR coalesce(bool_or(c.relforcerowsecurity), false) INTO v_force
    FROM pg_class c WHERE c.relnamespace = v_schema AND c.relkind IN ('r', 'p');
    FOR v_table IN
        SELECT c.oid::regclass AS name, c.relrowsecurity AS enabled, c.relforcerowsecurity AS forced,
               EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'one_tenant')
               AS has_policy
        FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
        WHERE c.relnamespace = v_schema AND c.relkind IN ('r', 'p')
        ORDER BY c.relname
    LOOP
        IF NOT v_table.has_policy THEN
            EXECUTE format('CREATE POLICY one_tenant ON %s USING (tenant = current_setting(%L))',
                           v_table.name, 'langledger.tenant');
        END IF;
        IF NOT v_table.enabled THEN
            EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', v_table.name);
        END IF;
        IF v_force AND NOT v_table.forced THEN
            EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', v_table.name);
        END IF;
    END LOOP;
END $$;

-- A view reads with the rights of its owner unless told otherwise, which PostgreSQL 14 cannot be:
-- there `langledger db role` refuses to make a role.
DO $$
BEGIN
    IF current_setting('server_version_num')::int >= 150000 THEN
        EXECUTE 'ALTER VIEW working_state SET (security_invoker = true)';
    END IF;
    PERFORM secure_tables();
END $$;

-- Statistics are samples of values, and outlive the rows of a table that is empty: none of what
-- somebody said, which no plan is made from.
ALTER TABLE entry ALTER COLUMN body SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0;
ALTER TABLE thread ALTER COLUMN metadata SET STATISTICS 0;
ALTER TABLE compaction ALTER COLUMN view SET STATISTICS 0, ALTER COLUMN report SET STATISTICS 0;
ALTER TABLE compaction_draft
    ALTER COLUMN view SET STATISTICS 0, ALTER COLUMN report SET STATISTICS 0;
ALTER TABLE pin ALTER COLUMN text SET STATISTICS 0;
ALTER TABLE summary_cache ALTER COLUMN summary SET STATISTICS 0;
ALTER TABLE checkpoint ALTER COLUMN log SET STATISTICS 0;
ALTER TABLE state_event ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE state_fold ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE state_record
    ALTER COLUMN record_id SET STATISTICS 0, ALTER COLUMN what SET STATISTICS 0,
    ALTER COLUMN why SET STATISTICS 0;
ALTER TABLE project_record ALTER COLUMN what SET STATISTICS 0, ALTER COLUMN why SET STATISTICS 0;
ALTER TABLE brought ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE store_item ALTER COLUMN value SET STATISTICS 0;
ALTER TABLE store_unit ALTER COLUMN terms SET STATISTICS 0;
ALTER TABLE recall_unit ALTER COLUMN body SET STATISTICS 0, ALTER COLUMN metadata SET STATISTICS 0;

-- Only the owner of a table may index it, and a tenant becomes large while an application runs. So this
-- runs as the owner, whoever calls it, and nothing that a caller can make is looked at: tables of this
-- schema alone, pgvector's names with their own, and a name of the index that is not the caller's.
CREATE FUNCTION recall_build_index(p_tenant text, p_model integer, p_dimensions integer)
RETURNS void LANGUAGE plpgsql STRICT SECURITY DEFINER AS $$
DECLARE
    v_table  regclass := format('%I.recall_vector', current_schema());
    v_vector regnamespace := (SELECT e.extnamespace FROM pg_extension e WHERE e.extname = 'vector');
BEGIN
    IF p_tenant <> coalesce(current_setting('langledger.tenant', true), p_tenant) THEN
        RAISE insufficient_privilege USING MESSAGE = 'the transaction names another tenant';
    END IF;
    IF (SELECT c.relkind = 'p' FROM pg_class c WHERE c.oid = v_table) THEN  -- the tenant's partition
        v_table := coalesce((SELECT v.tableoid FROM recall_vector v WHERE v.tenant = p_tenant LIMIT 1), v_table);
    END IF;
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS %I ON %s
         USING hnsw ((embedding::%s.halfvec(%s)) %s.halfvec_cosine_ops) WHERE tenant = %L AND model = %s',
        format('recall_hnsw_%s_%s', left(encode(sha256(convert_to(p_tenant, 'UTF8')), 'hex'), 16), p_model),
        v_table, v_vector, p_dimensions, v_vector, p_tenant, p_model);
END $$;
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION recall_build_index SET search_path = %I, pg_temp', current_schema());
END $$;
REVOKE EXECUTE ON FUNCTION recall_build_index FROM PUBLIC;
