-- Lets this server know at once when the structure of a database changes; without it, it looks every
-- few seconds. Run it there as a superuser: mcp-postgres --print-watch-sql | psql DATABASE
CREATE FUNCTION mcp_schema_changed() RETURNS event_trigger LANGUAGE plpgsql
    AS $$ BEGIN PERFORM pg_catalog.pg_notify('mcp_schema', ''); END $$;
CREATE EVENT TRIGGER mcp_schema_changed ON ddl_command_end EXECUTE FUNCTION mcp_schema_changed();
