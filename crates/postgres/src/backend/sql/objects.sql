-- $1 schema, $2 kinds separated by commas, $3 LIKE pattern, $4 system schemas too,
-- $5 partitions too, $6 limit, $7 offset
WITH schemas AS (
    SELECT oid, nspname FROM pg_catalog.pg_namespace
    WHERE ($1 IS NULL OR nspname = $1)
        AND ($4::bool OR nspname = $1 OR nspname <> 'information_schema' AND nspname !~ '^pg_')
        AND has_schema_privilege(oid, 'USAGE')
),
wanted AS (SELECT string_to_array($2, ',') AS kinds),
found AS (
    SELECT 'schema' AS kind, nspname AS schema, nspname AS name,
        obj_description(oid, 'pg_namespace') AS comment, NULL AS "table", NULL AS detail,
        NULL::int8 AS rows_estimate, NULL::int8 AS size_bytes
    FROM schemas
    WHERE $3 IS NOT NULL
    UNION ALL
    SELECT k.kind, nspname, c.relname, obj_description(c.oid, 'pg_class'), t.relname, NULL,
        CASE WHEN c.reltuples >= 0 AND c.relkind IN ('r', 'm', 'f') THEN c.reltuples::int8 END,
        CASE WHEN c.relkind IN ('r', 'm') THEN pg_total_relation_size(c.oid)
            WHEN c.relkind = 'i' THEN pg_relation_size(c.oid) END
    FROM pg_catalog.pg_class c
    JOIN schemas ON schemas.oid = c.relnamespace
    JOIN (VALUES ('r', 'table'), ('p', 'partitioned_table'), ('f', 'foreign_table'), ('v', 'view'),
        ('m', 'materialized_view'), ('S', 'sequence'), ('i', 'index'), ('I', 'index'))
        k (relkind, kind) ON k.relkind = c.relkind::text
    LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
    LEFT JOIN pg_catalog.pg_class t ON t.oid = i.indrelid
    WHERE $5::bool OR NOT c.relispartition
    UNION ALL
    SELECT 'column', nspname, attname, col_description(c.oid, attnum), relname,
        format_type(atttypid, atttypmod), NULL, NULL
    FROM pg_catalog.pg_attribute
    JOIN pg_catalog.pg_class c ON c.oid = attrelid AND relkind IN ('r', 'p', 'f', 'v', 'm')
    JOIN schemas ON schemas.oid = relnamespace
    WHERE attnum > 0 AND NOT attisdropped AND ($5::bool OR NOT relispartition)
    UNION ALL
    SELECT CASE prokind WHEN 'p' THEN 'procedure' ELSE 'function' END, nspname, proname,
        obj_description(p.oid, 'pg_proc'), NULL,
        '(' || pg_get_function_arguments(p.oid) || ')'
            || coalesce(' returns ' || pg_get_function_result(p.oid), ''), NULL, NULL
    FROM pg_catalog.pg_proc p JOIN schemas ON schemas.oid = pronamespace
    UNION ALL
    SELECT 'type', nspname, typname, obj_description(t.oid, 'pg_type'), NULL,
        CASE typtype
            WHEN 'e' THEN 'enum ' || (SELECT string_agg(enumlabel, ', ' ORDER BY enumsortorder)
                FROM pg_catalog.pg_enum WHERE enumtypid = t.oid)
            WHEN 'd' THEN 'domain over ' || format_type(typbasetype, typtypmod)
            WHEN 'c' THEN 'composite' WHEN 'r' THEN 'range' ELSE 'base' END, NULL, NULL
    FROM pg_catalog.pg_type t JOIN schemas ON schemas.oid = typnamespace
    WHERE typelem = 0 AND typtype IN ('e', 'd', 'r', 'b') OR typtype = 'c' AND EXISTS (
        SELECT FROM pg_catalog.pg_class WHERE oid = typrelid AND relkind = 'c')
    UNION ALL
    SELECT 'extension', nspname, extname, obj_description(e.oid, 'pg_extension'), NULL,
        'version ' || extversion, NULL, NULL
    FROM pg_catalog.pg_extension e JOIN schemas ON schemas.oid = extnamespace
),
matching AS (
    SELECT found.* FROM found, wanted
    WHERE (kind = ANY (kinds)
            OR kinds IS NULL AND ($3 IS NOT NULL OR kind NOT IN ('schema', 'column', 'index')))
        AND ($3 IS NULL OR name ILIKE $3 OR comment ILIKE $3)
)
SELECT json_build_object(
    'total', (SELECT count(*) FROM matching),
    'objects', (SELECT coalesce(json_agg(o), '[]') FROM (
        SELECT * FROM matching ORDER BY schema, kind, "table" NULLS FIRST, name, detail
        LIMIT $6::int OFFSET $7::int) o)
)::text
