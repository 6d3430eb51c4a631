//! What must not get through, as a superuser and as the role of an application: nothing is written,
//! no file is read, no command runs, and nothing is left behind for the next call.

use std::fs;
use std::path::PathBuf;

use mcp::client::Client;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;
use sqlx::postgres::PgConnection;

use super::{TestDatabase, call, cluster, result, run, value};

const SECRET: &str = "the-secret-of-the-server";

/// `{file}` is readable for the database server alone, `{out}` can be written by it, `{url}` is
/// itself, `{pid}` another session's process.
const ATTACKS: &[&str] = &[
    "COMMIT; INSERT INTO ins VALUES ('x')",
    "COMMIT; DROP TABLE ins",
    "COMMIT; DROP SCHEMA public CASCADE",
    "ROLLBACK; BEGIN READ WRITE; INSERT INTO ins VALUES ('x'); COMMIT",
    "SET TRANSACTION READ WRITE; INSERT INTO ins VALUES ('x'); COMMIT",
    "SELECT 1; COMMIT; INSERT INTO ins VALUES ('x'); SELECT 1",
    "SELECT 1 AS x$$; COMMIT; INSERT INTO ins VALUES ('x'); SELECT 2 AS x$$",
    "SELECT 1 --x\r; COMMIT; INSERT INTO ins VALUES ('x')",
    "SELECT 'a\\'; COMMIT; INSERT INTO ins VALUES ('x'); --'",
    "/* c */ COMMIT; INSERT INTO ins VALUES ('x')",
    "-- c\nDELETE FROM customer",
    "SELECT 1; DROP TABLE ins",
    "COMMIT",
    "ROLLBACK",
    "END",
    "SET TRANSACTION READ WRITE",
    "SET default_transaction_read_only = off",
    "SET search_path = evil",
    "RESET ALL",
    "SELECT set_config('transaction_read_only', 'off', false)",
    "SELECT set_config('search_path', 'evil', false)",
    "SELECT \"set_config\"('search_path', 'evil', false)",
    "SELECT U&\"set\\005fconfig\"('search_path', 'evil', false)",
    "SELECT U&\"set!005fconfig\" UESCAPE '!' ('search_path', 'evil', false)",
    "SELECT * FROM set_config('search_path', 'evil', false)",
    "INSERT INTO ins VALUES ('x')",
    "INSERT INTO ins VALUES ('x') RETURNING *",
    "WITH w AS (INSERT INTO ins VALUES ('x') RETURNING *) SELECT * FROM w",
    "WITH w AS (DELETE FROM customer RETURNING *) SELECT * FROM w",
    "EXPLAIN ANALYZE INSERT INTO ins VALUES ('x')",
    "SELECT * INTO stolen FROM customer",
    "CREATE TABLE made (a int)",
    "CREATE TEMP TABLE made (a int)",
    "CREATE EXTENSION hstore",
    "SELECT * FROM customer FOR UPDATE",
    "DO $$ BEGIN INSERT INTO ins VALUES ('x'); END $$",
    "DO $$ BEGIN COMMIT; INSERT INTO ins VALUES ('x'); END $$",
    "CALL writes_and_commits()",
    "SELECT writes()",
    "SELECT writes_as_owner()",
    "SELECT nextval('counter')",
    "SELECT setval('counter', 99)",
    "SELECT query_to_xml('INSERT INTO ins VALUES (''x'') RETURNING 1', true, false, '')",
    "SELECT pg_read_file('{file}')",
    "SELECT * FROM pg_read_file('{file}')",
    "SELECT pg_catalog.pg_read_file('{file}')",
    "SELECT \"pg_read_file\"('{file}')",
    "SELECT PG_READ_FILE('{file}')",
    "SELECT U&\"\\0070g_read_file\"('{file}')",
    "SELECT E'a'\n'b\\''||pg_read_file('{file}')||''",
    "SELECT ('{file}'::text).pg_read_file",
    "SELECT encode(pg_read_binary_file('{file}'), 'escape')",
    "SELECT pg_ls_dir('.')",
    "SELECT * FROM pg_ls_dir('.') d WHERE pg_read_file(d) IS NULL",
    "SELECT * FROM pg_stat_file('{file}')",
    "SELECT lo_import('{file}')",
    "SELECT lo_from_bytea(0, 'abc')",
    "SELECT * FROM lo_from_bytea(0, 'abc')",
    "SELECT set_config('role', 'none', true), pg_read_file('{file}')",
    "SELECT set_config('role', 'none', true), query_to_xml('select pg_read_file(''{file}'')', true, false, '')",
    "SELECT query_to_xml('select pg_read_file(''{file}'')', true, false, '')",
    "SELECT reads('{file}')",
    "SELECT * FROM reads('{file}')",
    "SELECT (SELECT reads('{file}'))",
    "COPY (SELECT 'x') TO '{out}'",
    "COPY ins FROM '{file}'",
    "COPY (SELECT 'x') TO PROGRAM 'cat > {out}'",
    "COPY ins FROM PROGRAM 'echo x'",
    "SELECT dblink_exec('{url}', 'INSERT INTO ins VALUES (''x'')')",
    "SELECT * FROM dblink('{url}', 'INSERT INTO ins VALUES (''x'') RETURNING a') AS t (a text)",
    "SELECT pg_advisory_lock(42)",
    "SELECT * FROM pg_advisory_lock(42)",
    "SELECT pg_try_advisory_lock(42)",
    "SELECT \"pg_advisory_lock_shared\"(42)",
    "SELECT locks()",
    "SELECT pg_terminate_backend({pid})",
    "SELECT * FROM pg_terminate_backend({pid})",
    "SELECT pg_cancel_backend({pid})",
    "SELECT pg_reload_conf()",
    "SELECT pg_switch_wal()",
    "SELECT pg_stat_reset()",
    "SELECT pg_create_physical_replication_slot('slot')",
    "SELECT pg_logical_emit_message(false, 'a', 'b')",
    "SELECT pg_export_snapshot()",
    "SELECT pg_notify('channel', 'x')",
    "LISTEN channel",
    "NOTIFY channel",
    "CHECKPOINT",
    "LOAD 'auto_explain'",
    "ANALYZE",
    "VACUUM",
    "DISCARD ALL",
    "ALTER SYSTEM SET work_mem = '1GB'",
    "PREPARE p AS INSERT INTO ins VALUES ('x')",
    "EXECUTE mcp_prepared",
    "DEALLOCATE ALL",
    "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
    "FETCH ALL FROM mcp_cursor",
    "CLOSE ALL",
    "LOCK TABLE customer IN ACCESS EXCLUSIVE MODE",
    "GRANT ALL ON customer TO PUBLIC",
    "SET SESSION AUTHORIZATION postgres",
    "SET ROLE postgres",
    "PREPARE TRANSACTION 'gid'",
    "SAVEPOINT a",
    "SELECT gin_clean_pending_list('customer_pkey')",
    "SELECT pg_import_system_collations('public')",
    "SELECT ts_stat('SELECT to_tsvector(pg_read_file(''{file}''))')",
];

struct Scene {
    database: TestDatabase,
    admin: PgConnection,
    /// Somebody else's session, of the same role as the server's.
    victim: PgConnection,
    victim_pid: i32,
    file: PathBuf,
    out: PathBuf,
    before: String,
}

/// Everything that could have been changed.
const STATE: &str = "SELECT concat_ws('|',
    (SELECT string_agg(relname, ',' ORDER BY oid) FROM pg_class WHERE oid >= 16384),
    (SELECT count(*) FROM ins), (SELECT count(*) FROM customer),
    (SELECT last_value FROM counter), (SELECT count(*) FROM pg_largeobject_metadata),
    (SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database
        WHERE datname = current_database() AND locktype = 'advisory'),
    (SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database
        WHERE datname = current_database() AND mode = 'AccessExclusiveLock'
            AND pid <> pg_backend_pid()),
    (SELECT count(*) FROM pg_replication_slots), (SELECT count(*) FROM pg_prepared_xacts),
    (SELECT count(*) FROM pg_extension), (SELECT string_agg(relacl::text, ',') FROM pg_class),
    (SELECT count(*) FROM pg_roles))";

/// What a call would find if another had left something on the connection.
const LEFT_OVERS: &str = "SELECT current_setting('search_path'), current_user::text,
    current_setting('transaction_read_only'), (SELECT count(*) FROM pg_cursors),
    (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_listening_channels())";

impl Scene {
    async fn new(role: &str) -> Self {
        let database = TestDatabase::new().await;
        let mut admin = database.admin().await;
        run(
            &mut admin,
            "CREATE TABLE ins (a text); CREATE SEQUENCE counter; CREATE SCHEMA evil;
            GRANT ALL ON ins, counter TO shop_app;
            CREATE EXTENSION dblink;
            CREATE FUNCTION writes() RETURNS int LANGUAGE sql VOLATILE
                AS 'INSERT INTO ins VALUES (''x'') RETURNING 1';
            CREATE FUNCTION writes_as_owner() RETURNS int LANGUAGE sql VOLATILE SECURITY DEFINER
                AS 'INSERT INTO ins VALUES (''x'') RETURNING 1';
            CREATE PROCEDURE writes_and_commits() LANGUAGE plpgsql
                AS 'BEGIN INSERT INTO ins VALUES (''x''); COMMIT; END';
            CREATE FUNCTION reads(f text) RETURNS text LANGUAGE plpgsql
                AS 'BEGIN RETURN pg_read_file(f); END';
            CREATE FUNCTION locks() RETURNS void LANGUAGE plpgsql
                AS 'BEGIN PERFORM pg_advisory_lock(42); END';",
        )
        .await;
        let mut victim =
            <PgConnection as sqlx::Connection>::connect(&database.url_as(role)).await.unwrap();
        let victim_pid = value(&mut victim, "SELECT pg_backend_pid()::text").await.unwrap();
        // Within the server's own folder, which its user may read and write.
        let folder = cluster().folder().join("data");
        let file = folder.join(format!("secret-{}", database.name));
        fs::write(&file, SECRET).unwrap();
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        let out = cluster().folder().join(format!("out-{}", database.name));
        let before = value(&mut admin, STATE).await.unwrap();
        Self { database, admin, victim, victim_pid: victim_pid.parse().unwrap(), file, out, before }
    }

    fn attack(&self, template: &str) -> String {
        template
            .replace("{file}", &self.file.display().to_string())
            .replace("{out}", &self.out.display().to_string())
            .replace("{url}", &self.database.url())
            .replace("{pid}", &self.victim_pid.to_string())
    }

    /// Nothing has changed, and the next call finds nothing of the last.
    async fn check(&mut self, client: &Client, sql: &str, user: &str) {
        // It gets the only connection, so what the last call left is cleared away by then.
        let clean = result(client, "query", json!({"sql": LEFT_OVERS})).await;
        let right = json!([["\"$user\", public", user, "on", 1, 0, 0]]);
        assert_eq!(clean["rows"], right, "after {sql}");
        let now = value(&mut self.admin, STATE).await.unwrap();
        assert!(now == self.before, "{sql}: {now:.200} was {:.200}", self.before);
        assert!(!self.out.exists(), "{sql}");
        let alive = value(&mut self.victim, "SELECT 'alive'").await;
        assert_eq!(alive.as_deref(), Some("alive"), "{sql}");
    }
}

#[tokio::test]
async fn nothing_gets_through_for_a_superuser() {
    nothing_gets_through("postgres", "pg_read_all_data").await;
}

#[tokio::test]
async fn nothing_gets_through_for_an_application() {
    nothing_gets_through("shop_app", "shop_app").await;
}

async fn nothing_gets_through(role: &str, user: &str) {
    let mut scene = Scene::new(role).await;
    let url = scene.database.url_as(role);
    // One connection, so that each call meets what the last one left.
    let client =
        super::connect(&[&url, "--max-connections", "1"], mcp::Revision::V2025_11_25).await;
    for template in ATTACKS {
        let sql = scene.attack(template);
        let answer = call(&client, "query", json!({"sql": sql})).await;
        assert!(!answer.text().contains(SECRET), "{sql}: {}", answer.text());
        scene.check(&client, &sql, user).await;
    }
}

/// The file is there and the server can read it: otherwise none of this would show anything.
#[tokio::test]
async fn the_attacks_work_without_the_protection() {
    let mut scene = Scene::new("postgres").await;
    let read = scene.attack("SELECT pg_read_file('{file}')");
    assert_eq!(value(&mut scene.admin, &read).await.as_deref(), Some(SECRET));
    for (sql, changes) in [
        ("BEGIN READ ONLY; COMMIT; INSERT INTO ins VALUES ('x')", true),
        ("SELECT lo_from_bytea(0, 'abc')", true),
        ("SELECT pg_advisory_lock(42)", true),
        ("SELECT 1", false),
    ] {
        run(&mut scene.admin, sql).await;
        let now = value(&mut scene.admin, STATE).await.unwrap();
        assert_eq!(now != scene.before, changes, "{sql}");
        scene.before = now;
    }
}

/// Spellings PostgreSQL reads as the same.
fn mutated() -> impl Strategy<Value = String> {
    let blank = prop::sample::select(vec![
        " ",
        "\t",
        "\n",
        "\r",
        "\u{b}",
        "\u{c}",
        "/**/",
        "/*/* ' */ \" */",
        "--'\n",
        "--\"\r",
        " \n ",
    ]);
    let name = prop::sample::select(vec!["pg_read_file", "set_config", "pg_advisory_lock"]);
    let around = prop::sample::select(vec![
        ("", ""),
        ("'a' || ", ""),
        ("E'\\'' || ", ""),
        ("E'a'\n'\\'' || ", ""),
        ("U&'\\0027' || ", ""),
        ("$$'$$ || ", " || $a$'$a$"),
        ("x'1'::text || ", " || 'b'"),
        ("1e1::text || ", " || '--'"),
        ("N'a''' || ", " || '/*'"),
        ("(SELECT \"'\" FROM (SELECT '' AS \"'\") t) || ", ""),
        ("(SELECT a$b$ FROM (SELECT '' AS a$b$) t) || ", " || '$b$'"),
    ]);
    let spelling = 0..5_usize;
    (name, spelling, around, prop::collection::vec(blank, 5)).prop_map(
        |(name, spelling, around, blanks)| {
            let spelled = match spelling {
                0 => name.to_owned(),
                1 => name.to_uppercase(),
                2 => format!("\"{name}\""),
                3 => format!("U&\"{}\"", name.replace('_', "\\005f")),
                _ => format!(
                    "U&\"{}\"{}UESCAPE{}'#'",
                    name.replace('g', "#0067"),
                    blanks[0],
                    blanks[1]
                ),
            };
            let arguments = match name {
                "pg_read_file" => "'{file}'",
                "set_config" => "'search_path', 'evil', false",
                _ => "42",
            };
            let call =
                format!("pg_catalog{}.{}{spelled}{}({arguments})", blanks[2], blanks[3], blanks[4]);
            let call = if name == "pg_advisory_lock" { format!("({call})::text") } else { call };
            format!("SELECT{}{}{call}{}", blanks[0], around.0, around.1)
        },
    )
}

#[test]
fn no_spelling_gets_through_for_a_superuser() {
    no_spelling_gets_through("postgres", "pg_read_all_data");
}

#[test]
fn no_spelling_gets_through_for_an_application() {
    no_spelling_gets_through("shop_app", "shop_app");
}

fn no_spelling_gets_through(role: &str, user: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut scene = runtime.block_on(Scene::new(role));
    let url = scene.database.url_as(role);
    let arguments = [url.as_str(), "--max-connections", "1"];
    let client = runtime.block_on(super::connect(&arguments, mcp::Revision::V2025_11_25));
    let config = ProptestConfig { failure_persistence: None, cases: 150, ..Default::default() };
    let scene = std::cell::RefCell::new(&mut scene);
    let outcome = TestRunner::new(config).run(&mutated(), |template| {
        let mut scene = scene.borrow_mut();
        let sql = scene.attack(&template);
        runtime.block_on(async {
            let text = call(&client, "query", json!({"sql": sql})).await.text();
            assert!(!text.contains(SECRET), "{sql}");
            // Refused by name, not by chance: the spelling is one PostgreSQL understands.
            assert!(text.contains("is not available here"), "{sql}: {text}");
            scene.check(&client, &sql, user).await;
        });
        Ok(())
    });
    outcome.unwrap();
}
