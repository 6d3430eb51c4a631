-- $1: whether PostgreSQL's own schemas are wanted
SELECT coalesce(json_agg(s ORDER BY s.name), '[]')::text
FROM (
    SELECT nspname AS name, obj_description(n.oid, 'pg_namespace') AS comment,
        (SELECT count(*) FROM pg_catalog.pg_class
            WHERE relnamespace = n.oid AND relkind IN ('r', 'p', 'f') AND NOT relispartition) AS tables,
        (SELECT count(*) FROM pg_catalog.pg_class
            WHERE relnamespace = n.oid AND relkind IN ('v', 'm')) AS views,
        (SELECT count(*) FROM pg_catalog.pg_proc WHERE pronamespace = n.oid) AS functions
    FROM pg_catalog.pg_namespace n
    WHERE ($1::bool OR nspname <> 'information_schema' AND nspname !~ '^pg_')
        AND nspname !~ '^pg_(toast|temp)'
        AND has_schema_privilege(n.oid, 'USAGE')
) s
