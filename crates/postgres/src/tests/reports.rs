//! What users and researchers have reported of servers of this kind, in public, as a table: the input
//! and what has to come of it. Each line says where it was reported.

use mcp::Revision;
use serde_json::{Value, json};

use super::{TestDatabase, call, config, connect, result, run, value};

/// What must come of a query.
enum Outcome {
    /// It is refused, and the text says this.
    Refused(&'static str),
    /// These rows, as JSON.
    Rows(&'static str),
}

use Outcome::{Refused, Rows};

/// Report, query, outcome. What is refused must leave nothing behind.
const QUERIES: &[(&str, &str, Outcome)] = &[
    ("servers PR#1889", "COMMIT; DROP SCHEMA public CASCADE", Refused("SELECT, VALUES")),
    ("servers #866", "DROP TABLE customer", Refused("SELECT, VALUES, TABLE or WITH")),
    ("CVE-2026-12045", "COMMIT; DELETE FROM customer; SELECT 1", Refused("SELECT, VALUES")),
    ("pgedge PR#196", "/* c */ SELECT 1; DELETE FROM customer", Refused("multiple commands")),
    ("pgedge #220", "SELECT pg_read_file('/etc/passwd')", Refused("not available here")),
    ("CVE-2026-85620", "SELECT * FROM pg_read_file('/etc/passwd')", Refused("not available here")),
    ("crystaldba #164", "UPDATE customer SET name = 'x'", Refused("cannot write")),
    ("crystaldba PR#106", "SELECT 1.5::numeric", Rows(r#"[["1.5"]]"#)),
    (
        "dbhub #349",
        "SELECT 'EXEC(''DELETE FROM customer'')'",
        Rows(r#"[["EXEC('DELETE FROM customer')"]]"#),
    ),
    (
        "dbhub #349, run",
        "DO $$ BEGIN EXECUTE 'DELETE FROM customer'; END $$",
        Refused("SELECT, VALUES"),
    ),
    (
        "mcp-toolbox #3795",
        "SELECT '033660ce-0000-4000-8000-000000000001'::uuid",
        Rows(r#"[["033660ce-0000-4000-8000-000000000001"]]"#),
    ),
    ("GHSA-65hm-pwj5-73pw", "SELECT 1; DROP TABLE customer", Refused("multiple commands")),
    ("pg-mcp-server #3", "-- x\nDELETE FROM customer", Refused("SELECT, VALUES")),
    ("awslabs #311", "DELETE FROM customer RETURNING *", Refused("SELECT, VALUES")),
    ("awslabs PR#1393", "SELECT count(*) FROM sales.\"order\"", Rows("[[3]]")),
    ("sqlx #2223", "SELECT '{[1,3)}'::int4multirange", Rows(r#"[["{[1,3)}"]]"#)),
    (
        "pg_durable #120",
        "SELECT 123456789012345678901234567890.12::numeric",
        Rows(r#"[["123456789012345678901234567890.12"]]"#),
    ),
    ("servers #1014", "SELECT E'{\"a\":\n1}'::json, E'x\ny'", Rows(r#"[[{"a":1},"x\ny"]]"#)),
];

#[tokio::test]
async fn reported_queries_have_the_right_outcome() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    for role in ["postgres", "shop_app"] {
        let client = connect(&[&database.url_as(role)], Revision::V2025_11_25).await;
        for (report, sql, outcome) in QUERIES {
            let answer = call(&client, "query", json!({"sql": sql})).await;
            let text = answer.text();
            match outcome {
                Refused(says) => {
                    assert!(answer.is_error && text.contains(says), "{report}: {text}");
                }
                Rows(rows) => {
                    let rows: Value = serde_json::from_str(rows).unwrap();
                    assert_eq!(answer.structured["rows"], rows, "{report}: {text}");
                }
            }
            let left = "SELECT count(*)::text FROM customer WHERE name <> 'x'";
            assert_eq!(value(&mut admin, left).await.as_deref(), Some("3"), "{report}");
        }
    }
}

/// Other tools: report, tool, arguments, where to look in the answer, and what is there.
#[tokio::test]
async fn reported_calls_have_the_right_outcome() {
    let database = TestDatabase::new().await;
    run(
        &mut database.admin().await,
        "CREATE TABLE event (at date) PARTITION BY RANGE (at);
        CREATE TABLE event_1 PARTITION OF event FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
        CREATE TABLE event_2 PARTITION OF event FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');",
    )
    .await;
    let client = database.connect().await;
    let table = json!({"table": "customer"});
    let order = json!({"table": "sales.order"});
    let analyze = json!({"sql": "SELECT * FROM customer", "analyze": true});
    let bound = json!({"sql": "SELECT name FROM customer WHERE id = $1", "params": [2]});
    let events = json!({"schema": "public", "kinds": ["table", "partitioned_table"]});
    let sales = json!({"schema": "sales", "kinds": ["table"]});
    for (report, tool, arguments, pointer, right) in [
        (
            "crystaldba #71",
            "describe_table",
            &table,
            "/columns/2/comment",
            json!("Where receipts go"),
        ),
        (
            "crystaldba #71",
            "describe_table",
            &order,
            "/constraints/2/references",
            json!("customer"),
        ),
        (
            "crystaldba #153",
            "explain_query",
            &analyze,
            "/hottest/step",
            json!("Seq Scan on customer"),
        ),
        ("supabase #40400", "query", &bound, "/rows", json!([["Grace"]])),
        ("servers #1063", "list_objects", &events, "/total", json!(2)),
        ("awslabs PR#1393", "list_objects", &sales, "/objects/0/name", json!("order")),
    ] {
        let found = result(&client, tool, arguments.clone()).await;
        assert_eq!(found.pointer(pointer), Some(&right), "{report}: {found:#}");
    }
    // supabase/mcp #152: a role that may only read sees what there is.
    let reader = connect(&[&database.url_as("shop_reader")], Revision::V2025_11_25).await;
    assert_eq!(result(&reader, "list_objects", sales).await["total"], 1);
}

/// Columns a model must not see (crystaldba #167): the database withholds them, however they are
/// asked for, and says so.
#[tokio::test]
async fn reported_columns_are_withheld() {
    let database = TestDatabase::new().await;
    run(
        &mut database.admin().await,
        "CREATE TABLE person (id int, ssn text); INSERT INTO person VALUES (1, '123-45');
        GRANT SELECT (id) ON person TO shop_app",
    )
    .await;
    let app = connect(&[&database.url_as("shop_app")], Revision::V2025_11_25).await;
    for columns in ["*", "upper(ssn)", "person"] {
        let sql = format!("SELECT {columns} FROM person");
        let refused = call(&app, "query", json!({"sql": sql})).await;
        assert!(refused.text().contains("`describe_table` marks"), "{}", refused.text());
    }
    assert_eq!(
        result(&app, "query", json!({"sql": "SELECT id FROM person"})).await["rows"][0][0],
        1
    );
    let person = result(&app, "describe_table", json!({"table": "person"})).await;
    let withheld = |column: usize| person["columns"][column]["withheld"].clone();
    assert_eq!((withheld(0), withheld(1)), (Value::Null, json!(true)));
}

/// Several databases in one process (servers #1219, #697), one of them down (pgedge #82, servers
/// #1285), one pool for all sessions (crystaldba #98), how long a query may take (crystaldba #99).
#[tokio::test]
async fn reported_configurations_work() {
    let (one, other) = (TestDatabase::new().await, TestDatabase::new().await);
    run(&mut other.admin().await, "CREATE TABLE only_here (a int)").await;
    let down = "down=postgres://u:p@127.0.0.1:1/x".to_owned();
    let urls = [format!("one={}", one.url()), format!("two={}", other.url()), down];
    let arguments: Vec<&str> = urls.iter().map(String::as_str).collect();
    let arguments = [&arguments[..], &["--statement-timeout-secs", "1"]].concat();
    let client = connect(&arguments, Revision::V2025_11_25).await;
    for (database, tables) in [("one", 0), ("two", 1)] {
        let sql = "SELECT count(*) FROM pg_class WHERE relname = 'only_here'";
        let found = result(&client, "query", json!({"sql": sql, "database": database})).await;
        assert_eq!(found["rows"], json!([[tables]]));
    }
    let down = call(&client, "query", json!({"sql": "SELECT 1", "database": "down"})).await;
    assert!(down.is_error && down.text().contains("nothing listens"), "{}", down.text());
    let slow = call(&client, "query", json!({"sql": "SELECT pg_sleep(5)"})).await;
    assert!(slow.text().contains("statement timeout"), "{}", slow.text());
    // t8y2/dbx #3800: nothing a client can say makes it write.
    assert!(!config(&arguments).allow_write);
    let tools = client.list("tools/list", "tools").await.unwrap();
    assert!(!tools.iter().any(|tool| tool["name"] == "execute"));
}
