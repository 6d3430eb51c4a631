-- What the login role of this connection could do, by itself or through roles it may become.
WITH me AS (SELECT * FROM pg_catalog.pg_roles WHERE rolname = session_user),
found (risk, finding, stopped) AS (
    SELECT 'critical', 'superuser: reads and writes every file of the server, runs programs there',
        'queries run as pg_read_all_data (PostgreSQL 14 or newer); `execute` runs as superuser'
    FROM me WHERE rolsuper
    UNION ALL
    SELECT 'critical', format('member of %s: %s', role, power),
        'those functions are refused by name, not functions that call them'
    FROM me, (VALUES
        ('pg_read_server_files', 'reads files of the server'),
        ('pg_write_server_files', 'writes files of the server'),
        ('pg_execute_server_program', 'runs programs on the server')) r (role, power)
    WHERE NOT rolsuper AND pg_has_role(rolname, role, 'MEMBER')
    UNION ALL
    SELECT 'high', format('member of %s: %s', role, power), stopped
    FROM me, (VALUES
        ('pg_write_all_data', 'writes all tables', 'queries are read-only'),
        ('pg_signal_backend', 'ends other sessions', 'refused by name'),
        ('pg_checkpoint', 'forces checkpoints', 'only queries run'),
        ('pg_maintain', 'vacuums, locks and rebuilds all tables', 'queries are read-only'),
        ('pg_create_subscription', 'connects to other servers', 'queries are read-only'))
        r (role, power, stopped)
    JOIN pg_catalog.pg_roles known ON known.rolname = r.role
    WHERE NOT me.rolsuper AND pg_has_role(me.rolname, known.oid, 'MEMBER')
    UNION ALL
    SELECT 'high', attribute, 'queries are read-only'
    FROM me, LATERAL (VALUES (rolcreaterole, 'may create roles'), (rolcreatedb, 'may create databases'),
        (rolreplication, 'may replicate: reads everything, whatever its grants'),
        (rolbypassrls, 'sees all rows, whatever the policies for row security')) a (has, attribute)
    WHERE has AND NOT rolsuper
    UNION ALL
    SELECT 'medium', format('may write %s tables, for example %s', count(*), min(c.oid::regclass::text)),
        'queries are read-only'
    FROM me, pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace
    WHERE NOT rolsuper AND relkind IN ('r', 'p', 'f') AND nspname !~ '^pg_' AND nspname <> 'information_schema'
        AND has_table_privilege(me.rolname, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
    HAVING count(*) > 0
    UNION ALL
    SELECT 'medium', format('may create objects in the schemas %s', string_agg(quote_ident(nspname), ', ')),
        'queries are read-only'
    FROM me, pg_catalog.pg_namespace n
    WHERE NOT rolsuper AND nspname !~ '^pg_' AND has_schema_privilege(me.rolname, n.oid, 'CREATE')
    HAVING count(*) > 0
    UNION ALL
    SELECT 'medium', format('may become %s', string_agg(quote_ident(r.rolname), ', ')),
        'SET ROLE and set_config are refused'
    FROM me, pg_catalog.pg_roles r
    WHERE NOT me.rolsuper AND r.rolname <> me.rolname AND (r.rolsuper OR r.rolcreaterole)
        AND pg_has_role(me.rolname, r.oid, 'MEMBER')
    HAVING count(*) > 0
    UNION ALL
    SELECT 'high', format('the extension %s: %s', extname, power), stopped
    FROM pg_catalog.pg_extension JOIN (VALUES
        ('dblink', 'runs SQL on other servers, which no rollback undoes', 'refused by name'),
        ('postgres_fdw', 'foreign tables of other servers', 'read-only there as well'),
        ('file_fdw', 'shows files and programs of the server as tables', 'nothing: revoke the tables'),
        ('adminpack', 'writes files of the server', 'refused by name'),
        ('pg_cron', 'runs SQL later', 'queries are read-only'),
        ('plpython3u', 'functions may do anything on the server', 'nothing: revoke EXECUTE'),
        ('plperlu', 'functions may do anything on the server', 'nothing: revoke EXECUTE'),
        ('http', 'functions send requests', 'nothing: revoke EXECUTE')) k (name, power, stopped)
        ON name = extname
    UNION ALL
    SELECT 'medium', format('may call %s functions that run as somebody else (SECURITY DEFINER), for example %s',
        count(*), min(p.oid::regprocedure::text)), 'they cannot write; they may read what their owner may'
    FROM me, pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = pronamespace
    WHERE prosecdef AND nspname !~ '^pg_' AND NOT rolsuper AND has_function_privilege(me.rolname, p.oid, 'EXECUTE')
    HAVING count(*) > 0
    UNION ALL
    SELECT 'low', 'PostgreSQL older than 16 writes large objects in read-only transactions',
        'refused by name, and rolled back'
    WHERE current_setting('server_version_num')::int8 < 160000
    UNION ALL
    SELECT 'low', 'any role may take advisory locks and send notifications', 'refused by name'
    UNION ALL
    SELECT 'medium', 'the connection is not encrypted', 'nothing: add ?sslmode=verify-full to its URL'
    FROM pg_catalog.pg_stat_ssl WHERE pid = pg_backend_pid() AND NOT ssl AND inet_client_addr() IS NOT NULL
        AND NOT inet_client_addr() <<= '127.0.0.0/8' AND inet_client_addr() <> '::1'
)
SELECT json_build_object(
    'role', session_user, 'runs_as', $1::text,
    'is_least_privilege', NOT EXISTS (SELECT FROM found WHERE risk <> 'low'),
    'findings', (SELECT coalesce(json_agg(json_build_object('risk', risk, 'finding', finding,
        'stopped_by', stopped) ORDER BY array_position('{critical,high,medium,low}', risk), finding), '[]')
        FROM found)
)::text
