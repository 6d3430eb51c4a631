-- $1 schema, $2 table, $3 columns as a JSON array of names
WITH t AS (
    SELECT c.* FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace
    WHERE nspname = $1 AND relname = $2
),
k AS (
    SELECT name, position, attnum FROM t, json_array_elements_text($3::json) WITH ORDINALITY w (name, position)
    JOIN pg_catalog.pg_attribute ON attname = name
    WHERE attrelid = t.oid AND attnum > 0
),
s AS (
    SELECT position, avg_width, correlation FROM k
    JOIN pg_catalog.pg_stats ON schemaname = $1 AND tablename = $2 AND attname = k.name
)
SELECT json_build_object(
    'name', format('%I.%I', $1, $2),
    'columns', (SELECT string_agg(quote_ident(name), ', ' ORDER BY position) FROM k),
    'pages', greatest(relpages, 1),
    'rows', greatest(reltuples, 0),
    'width', coalesce((SELECT sum(avg_width) FROM s), 8),
    'correlation', coalesce((SELECT correlation FROM s WHERE position = 1), 0),
    'writes', coalesce((SELECT n_tup_ins + n_tup_upd + n_tup_del
        FROM pg_catalog.pg_stat_user_tables WHERE relid = t.oid), 0),
    'random_page_cost', current_setting('random_page_cost')::float8,
    'exists', EXISTS (SELECT FROM pg_catalog.pg_index
        WHERE indrelid = t.oid AND indisvalid AND indpred IS NULL AND (indkey::text || ' ')
            LIKE (SELECT string_agg(attnum::text, ' ' ORDER BY position) FROM k) || ' %')
)::text
FROM t WHERE EXISTS (SELECT FROM k)
UNION ALL SELECT NULL
LIMIT 1
