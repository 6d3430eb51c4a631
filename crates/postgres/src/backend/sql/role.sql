-- A role that may read one database and do nothing else. Run it there as a superuser or the owner,
-- for example: mcp-postgres --print-role-sql | psql DATABASE
-- Then give the role a password: \password mcp_reader
CREATE ROLE mcp_reader LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
    CONNECTION LIMIT 20;
ALTER ROLE mcp_reader SET default_transaction_read_only = on;
ALTER ROLE mcp_reader SET statement_timeout = '60s';
ALTER ROLE mcp_reader SET idle_in_transaction_session_timeout = '10min';
ALTER ROLE mcp_reader SET temp_file_limit = '2GB';
DO $$
DECLARE
    place text;
BEGIN
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO mcp_reader', current_database());
    FOR place IN SELECT nspname FROM pg_catalog.pg_namespace
        WHERE nspname <> 'information_schema' AND nspname !~ '^pg_'
    LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO mcp_reader', place);
        EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO mcp_reader', place);
        -- Of the role that runs this; repeat it for others that create tables.
        EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %I GRANT SELECT ON TABLES TO mcp_reader', place);
    END LOOP;
END
$$;
