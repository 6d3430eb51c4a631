//! What could be better: health, slow queries, indexes, and what the role could do.

use mcp::Revision;
use mcp::client::Client;
use serde_json::{Value, json};
use sqlx::Connection;
use sqlx::postgres::PgConnection;

use super::{TestDatabase, config, connect, refusal, result, run, value};

async fn findings(client: &Client, areas: Value) -> Vec<String> {
    let found = result(client, "database_health", json!({"areas": areas, "limit": 100})).await;
    let findings = found["findings"].as_array().unwrap().iter();
    let line = |finding: &Value| {
        ["area", "severity", "object", "finding", "fix"]
            .map(|key| finding[key].as_str().unwrap())
            .join(" | ")
    };
    findings.map(line).collect()
}

#[tokio::test]
async fn what_is_wrong_with_indexes_and_tables_is_found() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    run(
        &mut admin,
        "CREATE TABLE a (id int PRIMARY KEY, b int, c text, small smallint);
        INSERT INTO a SELECT n, n, repeat('x', 100), 1 FROM generate_series(1, 30000) n;
        CREATE INDEX a_b ON a (b); CREATE INDEX a_b_again ON a (b);
        CREATE INDEX a_b_c ON a (b, c); CREATE INDEX a_part ON a (b) WHERE b > 5;
        CREATE TABLE child (a_id int REFERENCES a, other int UNIQUE REFERENCES a);
        CREATE SEQUENCE nearly MAXVALUE 100; SELECT setval('nearly', 95);
        CREATE SEQUENCE small OWNED BY a.small; SELECT setval('small', 20000);
        ANALYZE a; DELETE FROM a WHERE id % 3 <> 0; ANALYZE a",
    )
    .await;
    // PostgreSQL itself marks an index so when building it fails.
    run(&mut admin, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'a_part'::regclass")
        .await;
    drop(admin);
    let client = database.connect().await;
    let found =
        eventually(&client, |found| found.iter().any(|line| line.contains("are dead"))).await;
    for wanted in [
        "indexes | warning | public.a_b_again | is the same as public.a_b,",
        "indexes | warning | public.a_b | begins like public.a_b_c,",
        "indexes | info | public.a_b_c | has not been used",
        "indexes | warning | public.a_part | is not valid",
        "indexes | warning | child | no index begins with the columns of the foreign key child_a_id_fkey",
        "| CREATE INDEX CONCURRENTLY ON child (a_id)",
        "bloat | warning | public.a | takes ",
        "vacuum | warning | public.a | 20000 of ",
        "vacuum | warning | server | autovacuum is off",
        "sequences | critical | public.nearly | has used 95.0 %",
        "sequences | warning | public.small | has used 61.0 %",
    ] {
        assert!(found.iter().any(|line| line.contains(wanted)), "{wanted} in {found:#?}");
    }
    for unwanted in ["child_other_fkey", "public.a_pkey", "public.a_b_c | is the same"] {
        assert!(!found.iter().any(|line| line.contains(unwanted)), "{unwanted} in {found:#?}");
    }
    // The fixes are what PostgreSQL takes.
    let mut admin = database.admin().await;
    for line in
        found.iter().filter(|line| line.contains("| VACUUM (") || line.contains("| CREATE I"))
    {
        run(&mut admin, line.rsplit_once(" | ").unwrap().1).await;
    }
    let only = findings(&client, json!(["sequences"])).await;
    assert!(only.iter().all(|line| line.starts_with("sequences")) && only.len() == 2, "{only:?}");
    let short = result(&client, "database_health", json!({"limit": 1})).await;
    assert!(short["more"].as_u64().unwrap() > 3, "{short}");
    assert!(short["size_bytes"].as_u64().unwrap() > 1_000_000, "{short}");
}

/// Statistics arrive a moment after what they are about.
async fn eventually(client: &Client, enough: impl Fn(&[String]) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for _ in 0..200 {
        found = findings(client, json!([])).await;
        if enough(&found) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    found
}

#[tokio::test]
async fn who_waits_for_whom_is_found() {
    let database = TestDatabase::new().await;
    let mut holder = database.admin().await;
    run(&mut holder, "BEGIN; LOCK TABLE customer").await;
    let pid = value(&mut holder, "SELECT pg_backend_pid()::text").await.unwrap();
    let mut waiter = database.admin().await;
    let waiting = tokio::spawn(async move {
        run(&mut waiter, "SELECT count(*) FROM customer").await;
    });
    let client = database.connect().await;
    let wanted = format!("waits for process {pid}: SELECT count(*) FROM customer");
    let found = eventually(&client, |found| found.iter().any(|line| line.contains(&wanted))).await;
    assert!(found.iter().any(|line| line.contains(&wanted)), "{found:#?}");
    let skipped = format!("locks | info | customer | process {pid} has it locked");
    assert!(found.iter().any(|line| line.contains(&skipped)), "{found:#?}");
    run(&mut holder, "ROLLBACK").await;
    waiting.await.unwrap();
}

#[tokio::test]
async fn replication_slots_nobody_reads_are_found() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    let slot = format!("unread_{}", database.name);
    run(&mut admin, &format!("SELECT pg_create_physical_replication_slot('{slot}', true)")).await;
    let client = database.connect().await;
    let found = findings(&client, json!(["replication"])).await;
    run(&mut admin, &format!("SELECT pg_drop_replication_slot('{slot}')")).await;
    let wanted = format!("replication | warning | slot {slot} | nobody reads it; it keeps ");
    assert!(found.iter().any(|line| line.starts_with(&wanted)), "{found:#?}");
}

#[tokio::test]
async fn the_most_expensive_queries_are_listed() {
    let database = TestDatabase::new().await;
    let client = database.connect().await;
    let mut admin = database.admin().await;
    let preloaded = "SELECT count(*)::text FROM pg_settings
        WHERE name = 'shared_preload_libraries' AND setting LIKE '%pg_stat_statements%'";
    if value(&mut admin, preloaded).await.as_deref() != Some("1") {
        // Not every PostgreSQL comes with it.
        return;
    }
    let text = refusal(&client, "top_queries", json!({})).await;
    assert!(text.contains("CREATE EXTENSION pg_stat_statements"), "{text}");
    run(
        &mut admin,
        "CREATE SCHEMA \"Odd s\"; CREATE EXTENSION pg_stat_statements SCHEMA \"Odd s\"",
    )
    .await;
    for _ in 0..3 {
        run(&mut admin, "SELECT count(*), 'often' FROM customer WHERE id < 77").await;
    }
    run(&mut admin, "SELECT pg_sleep(0.05), 'slow'").await;
    for (order, wanted) in [
        ("mean_time", "pg_sleep"),
        ("total_time", "pg_sleep"),
        ("calls", "FROM customer"),
        ("rows", ""),
        ("reads", ""),
    ] {
        let found = result(&client, "top_queries", json!({"order_by": order, "limit": 50})).await;
        let queries = found["queries"].as_array().unwrap();
        let said = |query: &Value| query["query"].as_str().unwrap().to_owned();
        assert!(queries.iter().any(|query| said(query).contains(wanted)), "{order}: {found:#}");
    }
    let found = result(&client, "top_queries", json!({"limit": 100})).await;
    let often = found["queries"].as_array().unwrap().iter();
    let often = often.filter(|query| query["query"].as_str().unwrap().contains("id < $2"));
    let often: Vec<_> = often.collect();
    assert_eq!((often.len(), &often[0]["calls"]), (1, &json!(3)), "{found:#}");
    assert_eq!(
        result(&client, "top_queries", json!({"limit": 1})).await["queries"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

const WORK: &str =
    "CREATE TABLE work AS SELECT n, n % 5000 AS m, n % 7 AS k, 'a' || n AS \"Odd c\",
        md5(n::text) AS pad FROM generate_series(1, 50000) n;
    CREATE TABLE few AS SELECT n * 100 AS id FROM generate_series(1, 5) n;
    CREATE INDEX work_n ON work (n); ANALYZE work, few";

/// Queries, and the columns an index should have; none if none would help.
const ADVICE: &[(&str, Option<&str>)] = &[
    ("SELECT * FROM work WHERE m = 7", Some("(m)")),
    ("SELECT * FROM work w WHERE w.m = 7 AND k > 5", Some("(m, k)")),
    ("SELECT * FROM work WHERE \"Odd c\" = 'a5'", Some("(\"Odd c\")")),
    ("SELECT * FROM few JOIN work ON work.m = few.id", Some("(m)")),
    ("SELECT * FROM work ORDER BY pad LIMIT 3", Some("(pad)")),
    ("DELETE FROM work WHERE m = 7", Some("(m)")),
    ("SELECT * FROM work WHERE n = 7", None),
    ("SELECT * FROM work WHERE n > 0", None),
    ("SELECT * FROM work WHERE m + 1 = 7", None),
    ("SELECT * FROM work WHERE m = 7 OR k = 1", None),
    ("SELECT count(*) FROM work", None),
    ("SELECT 1", None),
];

#[tokio::test]
async fn indexes_are_advised_from_statistics_and_with_hypopg() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    run(&mut admin, WORK).await;
    let available = "SELECT count(*)::text FROM pg_available_extensions WHERE name = 'hypopg'";
    let has_hypopg = value(&mut admin, available).await.as_deref() == Some("1");
    for by in ["statistics", "hypopg"] {
        if by == "hypopg" && !has_hypopg {
            continue;
        }
        if by == "hypopg" {
            run(&mut admin, "CREATE EXTENSION hypopg").await;
        }
        let client = connect(&[&database.url_as("shop_app")], Revision::V2025_11_25).await;
        run(&mut admin, "GRANT ALL ON ALL TABLES IN SCHEMA public TO shop_app").await;
        for (sql, columns) in ADVICE {
            let advice = result(&client, "index_advice", json!({"queries": [sql]})).await;
            assert_eq!(advice["estimated_by"], by);
            let Some(columns) = columns else {
                assert_eq!(advice["indexes"], json!([]), "{by}: {sql}");
                continue;
            };
            let index = &advice["indexes"][0];
            let right = format!("CREATE INDEX CONCURRENTLY ON public.work {columns}");
            assert_eq!(index["sql"], json!(right), "{by}: {sql}: {advice:#}");
            assert!(index["cost_after"].as_f64() < index["cost_before"].as_f64(), "{advice:#}");
            let size = index["size_bytes"].as_f64().unwrap();
            assert!((200_000.0..6_000_000.0).contains(&size), "{by}: {sql}: {advice:#}");
        }
        let queries: Vec<_> = ADVICE.iter().take(6).map(|(sql, _)| sql).collect();
        let advice = result(&client, "index_advice", json!({"queries": queries})).await;
        let m = advice["indexes"].as_array().unwrap().iter();
        let m = m.filter(|index| index["sql"].as_str().unwrap().ends_with("(m)"));
        assert_eq!(m.map(|index| &index["queries"]).collect::<Vec<_>>(), [&json!([0, 3, 5])]);
        // What was tried is not there for anybody.
        let plan = json!({"sql": "SELECT * FROM work WHERE m = 7"});
        for _ in 0..3 {
            let plan = result(&client, "explain_query", plan.clone()).await;
            assert_eq!(plan["hottest"]["step"], "Seq Scan on work", "{by}");
        }
        assert_eq!(
            value(&mut admin, "SELECT count(*)::text FROM work").await.as_deref(),
            Some("50000")
        );
    }
}

/// The estimate from statistics is held against what the planner does with a real index.
#[tokio::test]
async fn the_estimate_is_near_the_truth() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    run(&mut admin, WORK).await;
    let client = database.connect().await;
    for (sql, columns) in ADVICE.iter().take(3) {
        let advice = result(&client, "index_advice", json!({"queries": [sql]})).await;
        let guessed = advice["indexes"][0]["cost_after"].as_f64().unwrap();
        run(&mut admin, &format!("CREATE INDEX tried ON work {}", columns.unwrap())).await;
        let plan = result(&client, "explain_query", json!({"sql": sql})).await;
        let actual = plan["total_cost"].as_f64().unwrap();
        assert!((0.3..3.0).contains(&(guessed / actual)), "{sql}: {guessed}, {actual}");
        let size = value(&mut admin, "SELECT pg_relation_size('tried')::text").await.unwrap();
        let factor =
            advice["indexes"][0]["size_bytes"].as_f64().unwrap() / size.parse::<f64>().unwrap();
        // Equal keys are packed, which the estimate does not know.
        assert!((0.5..4.0).contains(&factor), "{sql}: {factor}");
        run(&mut admin, "DROP INDEX tried").await;
    }
}

#[tokio::test]
async fn what_the_role_could_do_is_told() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    run(
        &mut admin,
        "CREATE EXTENSION dblink; GRANT CREATE ON SCHEMA sales TO shop_app;
        CREATE FUNCTION definer() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'",
    )
    .await;
    for (role, runs_as, wanted) in [
        ("postgres", "pg_read_all_data", &["superuser: reads and writes every file", "dblink"][..]),
        (
            "shop_app",
            "shop_app",
            &["may write 2 tables", "schemas sales", "SECURITY DEFINER", "dblink"],
        ),
    ] {
        let client = connect(&[&database.url_as(role)], Revision::V2025_11_25).await;
        let posture = result(&client, "security_posture", json!({})).await;
        assert_eq!((&posture["role"], &posture["runs_as"]), (&json!(role), &json!(runs_as)));
        assert_eq!(posture["is_least_privilege"], false);
        for part in wanted {
            assert!(posture["findings"].to_string().contains(part), "{part} in {posture:#}");
        }
    }
    let member = format!("member_{}", database.name);
    run(&mut admin, &format!("CREATE ROLE {member} LOGIN CREATEDB; GRANT pg_read_server_files, pg_signal_backend TO {member}")).await;
    let client = connect(&[&database.url_as(&member)], Revision::V2025_11_25).await;
    let posture = result(&client, "security_posture", json!({})).await;
    drop(client);
    run(&mut admin, &format!("DROP ROLE {member}")).await;
    for part in
        ["member of pg_read_server_files", "member of pg_signal_backend", "may create databases"]
    {
        assert!(posture["findings"].to_string().contains(part), "{part} in {posture:#}");
    }
}

/// The printed SQL makes a role with which nothing worth a word is found, and which can read.
#[tokio::test]
async fn the_printed_role_may_read_and_nothing_else() {
    let sql = config(&["--print-role-sql"]).printed().unwrap();
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    // Roles belong to the whole server, which tests share.
    let role = format!("reader_{}", database.name);
    run(&mut admin, &sql.replace("mcp_reader", &role)).await;
    run(&mut admin, "CREATE TABLE later (a int); REVOKE CREATE ON SCHEMA public FROM PUBLIC").await;
    let client = connect(&[&database.url_as(&role)], Revision::V2025_11_25).await;
    let posture = result(&client, "security_posture", json!({})).await;
    assert_eq!(posture["is_least_privilege"], true, "{posture:#}");
    for table in ["customer", "sales.\"order\"", "sales.revenue", "later"] {
        result(&client, "query", json!({"sql": format!("SELECT count(*) FROM {table}")})).await;
    }
    let mut direct = PgConnection::connect(&database.url_as(&role)).await.unwrap();
    for sql in ["DELETE FROM customer", "CREATE TABLE x (a int)", "SELECT pg_read_file('x')"] {
        let refused = sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut direct).await;
        assert!(refused.is_err(), "{sql}");
    }
    let _ = direct.close().await;
    drop(client);
    let gone = format!("DROP OWNED BY {role}; DROP ROLE {role}");
    run(&mut admin, &gone).await;
}
