-- $1 schema or NULL, $2 name: all that describes a table, but for its rows and their statistics
WITH t AS (
    SELECT c.*, nspname FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace
    WHERE relname = $2 AND relkind IN ('r', 'p', 'f', 'v', 'm')
        AND ($1 IS NULL OR nspname = $1) AND has_schema_privilege(n.oid, 'USAGE')
    ORDER BY pg_table_is_visible(c.oid) DESC, nspname
    LIMIT 1
)
SELECT to_json(md5(concat_ws(E'\n', oid, relkind, relacl::text, relrowsecurity,
    obj_description(oid, 'pg_class'), CASE WHEN relkind IN ('v', 'm') THEN pg_get_viewdef(oid) END,
    (SELECT string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull,
            pg_get_expr(adbin, adrelid), attidentity, attgenerated, col_description(t.oid, attnum)), E'\n' ORDER BY attnum)
        FROM pg_catalog.pg_attribute
        LEFT JOIN pg_catalog.pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE attrelid = t.oid AND attnum > 0 AND NOT attisdropped),
    (SELECT string_agg(conname || pg_get_constraintdef(c.oid), E'\n' ORDER BY c.oid)
        FROM pg_catalog.pg_constraint c WHERE t.oid IN (conrelid, confrelid)),
    (SELECT string_agg(pg_get_indexdef(indexrelid) || indisvalid, E'\n' ORDER BY indexrelid)
        FROM pg_catalog.pg_index WHERE indrelid = t.oid),
    (SELECT string_agg(pg_get_triggerdef(g.oid), E'\n' ORDER BY g.oid)
        FROM pg_catalog.pg_trigger g WHERE tgrelid = t.oid AND NOT tgisinternal))))::text
FROM t
UNION ALL SELECT NULL
LIMIT 1
