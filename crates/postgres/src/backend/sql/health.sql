-- $1 areas separated by commas or NULL, $2 most findings of each area
WITH wanted AS (SELECT string_to_array($1, ',') AS areas),
blocked AS (
    -- Looking at these would wait as well.
    SELECT DISTINCT relation, pid FROM pg_catalog.pg_locks
    WHERE mode = 'AccessExclusiveLock' AND relation IS NOT NULL AND pid <> pg_backend_pid()
        AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
),
t AS (
    SELECT c.oid, format('%I.%I', nspname, c.relname) AS name, reltuples, relfrozenxid,
        pg_relation_size(c.oid) AS bytes, coalesce(n_live_tup, 0) AS live,
        coalesce(n_dead_tup, 0) AS dead, coalesce(last_analyze, last_autoanalyze) AS analyzed,
        -- What its rows would need if they were packed; unknown without statistics.
        (SELECT reltuples * (28 + sum(avg_width * (1 - null_frac))) FROM pg_catalog.pg_stats
        WHERE schemaname = nspname AND tablename = c.relname AND NOT inherited) AS packed
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace
    LEFT JOIN pg_catalog.pg_stat_user_tables s ON s.relid = c.oid
    WHERE relkind IN ('r', 'm') AND nspname <> 'information_schema' AND nspname !~ '^pg_'
        AND c.oid NOT IN (SELECT relation FROM blocked)
),
i AS (
    SELECT i.*, t.name AS table_name, format('%I.%I', nspname, c.relname) AS name,
        pg_relation_size(i.indexrelid) AS bytes, idx_scan, pg_get_expr(indexprs, indrelid) AS exprs,
        pg_get_expr(indpred, indrelid) AS pred, relam
    FROM pg_catalog.pg_index i
    JOIN t ON t.oid = indrelid
    JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace
    LEFT JOIN pg_catalog.pg_stat_user_indexes s ON s.indexrelid = i.indexrelid
),
same AS (
    SELECT a.name, b.name AS other, a.indkey::text = b.indkey::text AS whole, a.bytes
    FROM i a JOIN i b ON b.indrelid = a.indrelid AND b.indexrelid <> a.indexrelid
        AND b.relam = a.relam AND a.exprs IS NOT DISTINCT FROM b.exprs
        AND a.pred IS NOT DISTINCT FROM b.pred AND b.indisvalid
    WHERE a.indkey::text = b.indkey::text AND a.indclass::text = b.indclass::text
            AND a.indcollation::text = b.indcollation::text AND a.indoption::text = b.indoption::text
            AND NOT a.indisprimary AND (NOT a.indisunique OR b.indisunique)
            AND (a.indexrelid > b.indexrelid OR a.indisunique < b.indisunique)
        OR NOT a.indisunique AND a.exprs IS NULL AND b.indkey::text LIKE a.indkey::text || ' %'
            AND b.indclass::text LIKE a.indclass::text || ' %'
            AND b.indoption::text LIKE a.indoption::text || ' %'
),
sequences AS (
    SELECT format('%I.%I', s.schemaname, s.sequencename) AS name, last_value::numeric AS used,
        least(max_value, CASE atttypid WHEN 'int2'::regtype THEN 32767
            WHEN 'int4'::regtype THEN 2147483647 ELSE max_value END)::numeric AS most
    FROM pg_catalog.pg_sequences s
    LEFT JOIN pg_catalog.pg_depend d
        ON d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
            AND d.deptype IN ('a', 'i')
            AND d.objid = format('%I.%I', s.schemaname, s.sequencename)::regclass
    LEFT JOIN pg_catalog.pg_attribute ON attrelid = d.refobjid AND attnum = d.refobjsubid
    WHERE increment_by > 0 AND NOT cycle
),
sessions AS (
    SELECT *, extract(epoch FROM clock_timestamp() - xact_start)::int8 AS seconds,
        left(regexp_replace(query, '\s+', ' ', 'g'), 200) AS said
    FROM pg_catalog.pg_stat_activity
    WHERE pid <> pg_backend_pid() AND datname = current_database()
),
wal AS (
    SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn()
        ELSE pg_current_wal_lsn() END AS at
),
found (area, severity, object, finding, fix) AS (
    SELECT 'indexes', 'warning', name, 'is not valid: a build has failed, or goes on',
        'REINDEX INDEX CONCURRENTLY ' || name
    FROM i WHERE NOT indisvalid
    UNION ALL
    SELECT 'indexes', 'warning', name,
        CASE WHEN whole THEN 'is the same as ' ELSE 'begins like ' END || other
            || ', which can do its work; ' || pg_size_pretty(bytes),
        'DROP INDEX CONCURRENTLY ' || name
    FROM same
    UNION ALL
    SELECT 'indexes', 'info', name, 'has not been used since the statistics were reset; '
            || pg_size_pretty(bytes),
        'on all replicas too? then DROP INDEX CONCURRENTLY ' || name
    FROM i WHERE idx_scan = 0 AND NOT indisunique AND indisvalid AND bytes >= 65536
    UNION ALL
    SELECT 'indexes', 'warning', conrelid::regclass::text,
        format('no index begins with the columns of the foreign key %I: deleting in %s reads the whole table',
            conname, confrelid::regclass),
        format('CREATE INDEX CONCURRENTLY ON %s (%s)', conrelid::regclass,
            (SELECT string_agg(quote_ident(attname), ', ' ORDER BY position)
            FROM unnest(conkey) WITH ORDINALITY k (number, position)
            JOIN pg_catalog.pg_attribute ON attrelid = conrelid AND attnum = number))
    FROM pg_catalog.pg_constraint JOIN t ON t.oid = conrelid
    WHERE contype = 'f' AND NOT EXISTS (
        SELECT FROM pg_catalog.pg_index WHERE indrelid = conrelid AND indpred IS NULL AND indisvalid
            AND (indkey::int2[])[0:cardinality(conkey) - 1] @> conkey)
    UNION ALL
    SELECT 'bloat', 'warning', name,
        format('takes %s, its rows would need about %s (estimate)', pg_size_pretty(bytes),
            pg_size_pretty(packed::numeric)),
        format('VACUUM FULL %s (locks it), or pg_repack', name)
    FROM t WHERE bytes > 1048576 AND bytes > 2 * packed
    UNION ALL
    SELECT 'vacuum', 'warning', name,
        format('%s of %s rows are dead', dead, live + dead), 'VACUUM (ANALYZE) ' || name
    FROM t WHERE dead > 1000 AND dead > 0.2 * (live + dead)
    UNION ALL
    SELECT 'vacuum', CASE WHEN age(relfrozenxid) > 1500000000 THEN 'critical' ELSE 'warning' END, name,
        format('its oldest row is %s transactions old; at 2 billion the server stops taking writes',
            age(relfrozenxid)),
        'VACUUM (FREEZE) ' || name
    FROM t WHERE relfrozenxid <> '0'
        AND age(relfrozenxid) > 0.75 * current_setting('autovacuum_freeze_max_age')::int8
    UNION ALL
    SELECT 'vacuum', 'info', name, 'has no statistics, so plans are guesses', 'ANALYZE ' || name
    FROM t WHERE analyzed IS NULL AND live > 1000
    UNION ALL
    SELECT 'vacuum', 'warning', 'server', 'autovacuum is off: nothing clears away dead rows',
        'ALTER SYSTEM SET autovacuum = on'
    WHERE current_setting('autovacuum') = 'off'
    UNION ALL
    SELECT 'locks', 'warning', 'process ' || pid,
        format('waits for process %s: %s', array_to_string(pg_blocking_pids(pid), ', '), said),
        'have the others end their transactions'
    FROM sessions WHERE cardinality(pg_blocking_pids(pid)) > 0
    UNION ALL
    SELECT 'locks', 'info', relation::regclass::text,
        format('process %s has it locked, or waits to: it was not looked at', pid), 'look again later'
    FROM blocked JOIN pg_catalog.pg_class c ON c.oid = relation AND relkind IN ('r', 'm')
    UNION ALL
    SELECT 'transactions', CASE WHEN seconds > 3600 THEN 'critical' ELSE 'warning' END, 'process ' || pid,
        format('%s for %s s (%s, %s): %s', state, seconds, usename, application_name, said),
        'end it: VACUUM keeps every row that has died since it began'
    FROM sessions WHERE seconds > 60
    UNION ALL
    SELECT 'transactions', 'warning', format('prepared transaction %L', gid),
        'waits since ' || prepared::text, format('COMMIT PREPARED or ROLLBACK PREPARED %L', gid)
    FROM pg_catalog.pg_prepared_xacts
    WHERE database = current_database() AND prepared < clock_timestamp() - interval '5 min'
    UNION ALL
    SELECT 'sequences', CASE WHEN used / most > 0.9 THEN 'critical' ELSE 'warning' END, name,
        format('has used %s %% of what its column can hold', round(used / most * 100, 1)),
        'make the column bigint'
    FROM sequences WHERE used / most > 0.5
    UNION ALL
    SELECT 'replication', 'warning', 'slot ' || slot_name,
        format('nobody reads it; it keeps %s of WAL',
            pg_size_pretty(pg_wal_lsn_diff(wal.at, restart_lsn))),
        format('SELECT pg_drop_replication_slot(%L), if it is not needed', slot_name)
    FROM pg_catalog.pg_replication_slots, wal WHERE NOT active
    UNION ALL
    SELECT 'replication', 'warning', 'replica ' || coalesce(nullif(application_name, ''), client_addr::text),
        format('is %s behind', replay_lag), 'look at its load and its network'
    FROM pg_catalog.pg_stat_replication WHERE replay_lag > interval '10 s'
    UNION ALL
    SELECT 'connections', 'warning', 'server',
        format('%s of %s connections are in use', count(*), current_setting('max_connections')),
        'put a pooler before it'
    FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend'
    HAVING count(*) > 0.8 * current_setting('max_connections')::int8
    UNION ALL
    SELECT 'cache', 'info', current_database(),
        format('%s %% of pages were found in memory', round(blks_hit * 100.0 / (blks_hit + blks_read), 1)),
        'more shared_buffers, or less to read: see top_queries'
    FROM pg_catalog.pg_stat_database
    WHERE datname = current_database() AND blks_read > 100000 AND blks_hit < 9 * blks_read
),
ranked AS (
    SELECT found.*, row_number() OVER (PARTITION BY area ORDER BY severity = 'critical' DESC,
        severity = 'warning' DESC, object, finding) AS place
    FROM found, wanted WHERE areas IS NULL OR area = ANY (areas)
)
SELECT json_build_object(
    'version', current_setting('server_version'),
    'size_bytes', pg_database_size(current_database()),
    'connections', (SELECT count(*) FROM pg_catalog.pg_stat_activity
        WHERE backend_type = 'client backend'),
    'max_connections', current_setting('max_connections')::int8,
    'cache_hit_ratio', (SELECT round(blks_hit * 1.0 / nullif(blks_hit + blks_read, 0), 4)
        FROM pg_catalog.pg_stat_database WHERE datname = current_database()),
    'is_replica', pg_is_in_recovery(),
    'findings', (SELECT coalesce(json_agg(json_build_object('area', area, 'severity', severity,
            'object', object, 'finding', finding, 'fix', fix)
            ORDER BY severity = 'critical' DESC, severity = 'warning' DESC, area, place), '[]')
        FROM ranked WHERE place <= $2::int8),
    'more', (SELECT count(*) FROM ranked WHERE place > $2::int8)
)::text
