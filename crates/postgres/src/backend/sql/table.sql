-- $1 schema or NULL, $2 name
WITH t AS (
    SELECT c.*, nspname FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace
    WHERE relname = $2 AND relkind IN ('r', 'p', 'f', 'v', 'm')
        AND ($1 IS NULL OR nspname = $1) AND has_schema_privilege(n.oid, 'USAGE')
    ORDER BY pg_table_is_visible(c.oid) DESC, nspname
    LIMIT 1
)
SELECT json_build_object(
    'schema', nspname, 'name', relname,
    'kind', CASE relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'partitioned_table'
        WHEN 'f' THEN 'foreign_table' WHEN 'v' THEN 'view' ELSE 'materialized_view' END,
    'comment', obj_description(t.oid, 'pg_class'),
    'rows_estimate', CASE WHEN reltuples >= 0 AND relkind <> 'v' THEN reltuples::int8 END,
    'size_bytes', CASE WHEN relkind IN ('r', 'm') THEN pg_total_relation_size(t.oid) END,
    'row_security', relrowsecurity,
    'definition', CASE WHEN relkind IN ('v', 'm') THEN pg_get_viewdef(t.oid, true) END,
    'partition_of', (SELECT inhparent::regclass::text FROM pg_catalog.pg_inherits
        WHERE inhrelid = t.oid AND relispartition),
    'partition_key', pg_get_partkeydef(t.oid),
    'partitions', (SELECT nullif(count(*), 0) FROM pg_catalog.pg_inherits WHERE inhparent = t.oid),
    'columns', (
        SELECT coalesce(json_agg(json_build_object(
            'name', attname,
            'type', format_type(atttypid, atttypmod),
            'nullable', NOT attnotnull,
            'withheld', NOT has_column_privilege(t.oid, attnum, 'SELECT'),
            'default', CASE WHEN attgenerated = '' THEN pg_get_expr(adbin, adrelid) END,
            'generated', CASE WHEN attgenerated <> '' THEN pg_get_expr(adbin, adrelid)
                WHEN attidentity = 'a' THEN 'always as identity'
                WHEN attidentity = 'd' THEN 'by default as identity' END,
            'comment', col_description(t.oid, attnum),
            'statistics', (
                SELECT json_build_object('null_fraction', null_frac, 'distinct', n_distinct,
                    'common_values', (most_common_vals::text::text[])[1:5],
                    'average_bytes', avg_width)
                FROM pg_catalog.pg_stats
                WHERE schemaname = nspname AND tablename = relname AND pg_stats.attname = a.attname
                ORDER BY inherited DESC LIMIT 1)
            ) ORDER BY attnum), '[]')
        FROM pg_catalog.pg_attribute a
        LEFT JOIN pg_catalog.pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE attrelid = t.oid AND attnum > 0 AND NOT attisdropped),
    'constraints', (
        SELECT coalesce(json_agg(json_build_object(
            'name', conname,
            'kind', CASE contype WHEN 'p' THEN 'primary_key' WHEN 'u' THEN 'unique'
                WHEN 'f' THEN 'foreign_key' WHEN 'c' THEN 'check' WHEN 'x' THEN 'exclusion'
                ELSE 'other' END,
            'columns', (SELECT json_agg(attname ORDER BY position)
                FROM unnest(conkey) WITH ORDINALITY k (number, position)
                JOIN pg_catalog.pg_attribute ON attrelid = conrelid AND attnum = number),
            'references', CASE WHEN contype = 'f' THEN confrelid::regclass::text END,
            'references_columns', (SELECT json_agg(attname ORDER BY position)
                FROM unnest(confkey) WITH ORDINALITY k (number, position)
                JOIN pg_catalog.pg_attribute ON attrelid = confrelid AND attnum = number),
            'definition', pg_get_constraintdef(pg_constraint.oid)
            ) ORDER BY contype = 'p' DESC, contype, conname), '[]')
        FROM pg_catalog.pg_constraint WHERE conrelid = t.oid AND contype IN ('p', 'u', 'f', 'c', 'x')),
    'referenced_by', (
        SELECT coalesce(json_agg(json_build_object(
            'table', conrelid::regclass::text, 'definition', pg_get_constraintdef(oid))
            ORDER BY conrelid::regclass::text, conname), '[]')
        FROM pg_catalog.pg_constraint
        WHERE confrelid = t.oid AND contype = 'f' AND conparentid = 0),
    'indexes', (
        SELECT coalesce(json_agg(json_build_object(
            'name', i.relname,
            'definition', pg_get_indexdef(indexrelid),
            'unique', indisunique,
            'valid', indisvalid,
            'size_bytes', pg_relation_size(indexrelid),
            'scans', (SELECT idx_scan FROM pg_catalog.pg_stat_user_indexes s
                WHERE s.indexrelid = pg_index.indexrelid)
            ) ORDER BY indisprimary DESC, i.relname), '[]')
        FROM pg_catalog.pg_index JOIN pg_catalog.pg_class i ON i.oid = indexrelid
        WHERE indrelid = t.oid),
    'triggers', (
        SELECT coalesce(json_agg(pg_get_triggerdef(oid, true) ORDER BY tgname), '[]')
        FROM pg_catalog.pg_trigger WHERE tgrelid = t.oid AND NOT tgisinternal),
    'privileges', (
        SELECT coalesce(json_agg(privilege ORDER BY privilege), '[]')
        FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) privilege
        WHERE has_table_privilege(session_user, t.oid, privilege))
)::text
FROM t
UNION ALL SELECT NULL
LIMIT 1
