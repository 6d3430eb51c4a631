//! A query nobody waits for any more is gone from the database too, and its connection is used again.

use std::time::Duration;

use mcp::client::{Answering, Client};
use mcp::{Limits, Revision};
use serde_json::json;
use sqlx::postgres::PgConnection;

use super::{TestDatabase, cluster, config, connect, refusal, result, value};
use crate::server;

/// Waits until as many backends of this database as said run the marked query.
async fn running(admin: &mut PgConnection, wanted: usize) {
    let sql = "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database()
        AND state = 'active' AND pid <> pg_backend_pid() AND wait_event = 'PgSleep'";
    let waited = tokio::time::timeout(Duration::from_secs(20), async {
        while value(admin, sql).await != Some(wanted.to_string()) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("not {wanted} queries running"));
}

fn sleeping() -> serde_json::Value {
    json!({"name": "query", "arguments": {"sql": "SELECT pg_sleep(600)"}})
}

async fn pid(client: &Client) -> serde_json::Value {
    result(client, "query", json!({"sql": "SELECT pg_backend_pid()"})).await["rows"][0][0].clone()
}

#[tokio::test]
async fn a_cancelled_query_ends_and_its_connection_goes_on() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    let url = database.url_as("shop_app");
    let client = connect(
        &[&url, "--max-connections", "1", "--statement-timeout-secs", "600"],
        Revision::V2025_11_25,
    )
    .await;
    let before = pid(&client).await;
    for _ in 0..25 {
        let call = client.start("tools/call", sleeping());
        running(&mut admin, 1).await;
        call.cancel();
        running(&mut admin, 0).await;
    }
    assert_eq!(pid(&client).await, before);
    let clean = "SELECT count(*) FROM pg_cursors WHERE name <> 'mcp_cursor'";
    assert_eq!(result(&client, "query", json!({"sql": clean})).await["rows"], json!([[0]]));
}

/// At whatever moment: before the transaction, between two statements, at the end.
#[tokio::test]
async fn a_query_can_be_cancelled_at_any_moment() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    let client = connect(&[&database.url(), "--max-connections", "2"], Revision::V2025_11_25).await;
    pid(&client).await;
    for microseconds in (0..6000).step_by(60) {
        let sql = "SELECT n, pg_sleep(0.001) FROM generate_series(1, 3) n WHERE n < $1";
        let call = json!({"name": "query", "arguments": {"sql": sql, "params": [3]}});
        let call = client.start("tools/call", call);
        tokio::time::sleep(Duration::from_micros(microseconds)).await;
        call.cancel();
        let after = result(&client, "query", json!({"sql": "SELECT 1"})).await;
        assert_eq!(after["rows"], json!([[1]]));
    }
    running(&mut admin, 0).await;
    let connections = "SELECT count(*)::text FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let connections = value(&mut admin, connections).await.unwrap();
    assert!(connections.parse::<u32>().unwrap() <= 3, "{connections}");
}

#[tokio::test]
async fn nothing_runs_on_when_the_client_has_gone() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    for _ in 0..5 {
        let limits = Limits { drain: Duration::ZERO, ..Limits::default() };
        let server = server(config(&[&database.url()])).unwrap().limits(limits);
        let client = Client::in_memory(server, Revision::V2025_11_25, Answering::nothing());
        let client = client.await.unwrap();
        let calls: Vec<_> = (0..4).map(|_| client.start("tools/call", sleeping())).collect();
        running(&mut admin, 4).await;
        drop((calls, client));
        running(&mut admin, 0).await;
    }
}

/// The process ends: there is no runtime any more that could do anything later.
#[test]
fn nothing_runs_on_when_the_process_ends() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let watching = runtime();
    let database = watching.block_on(TestDatabase::new());
    let mut admin = watching.block_on(database.admin());
    let serving = runtime();
    let client = serving.block_on(database.connect());
    let calls: Vec<_> = serving
        .block_on(async { (0..3).map(|_| client.start("tools/call", sleeping())).collect() });
    // Both must run for the queries to begin.
    serving.block_on(async {
        let admin = database.admin();
        running(&mut admin.await, 3).await;
    });
    let cancelled = || {
        let log = std::fs::read_to_string(cluster().log()).unwrap_or_default();
        log.matches("canceling statement due to user request").count()
    };
    let before = cancelled();
    drop(serving);
    drop((calls, client));
    watching.block_on(running(&mut admin, 0));
    if cluster().port() != 0 {
        while cancelled() < before + 3 {}
    }
}

#[tokio::test]
async fn a_query_that_takes_too_long_is_stopped() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    let url = database.url();
    // By the database,
    let client = connect(&[&url, "--statement-timeout-secs", "1"], Revision::V2025_11_25).await;
    let text = refusal(&client, "query", json!({"sql": "SELECT pg_sleep(600)"})).await;
    assert!(text.contains("canceling statement due to statement timeout"), "{text}");
    // and by the limit every call has.
    let limits = Limits { call_timeout: Duration::from_secs(1), ..Limits::default() };
    let server = server(config(&[&url])).unwrap().limits(limits);
    let client = Client::in_memory(server, Revision::V2025_11_25, Answering::nothing());
    let client = client.await.unwrap();
    let text = refusal(&client, "query", json!({"sql": "SELECT pg_sleep(600)"})).await;
    assert!(text.contains("Stopped after 1 s"), "{text}");
    running(&mut admin, 0).await;
}

#[tokio::test]
async fn a_long_query_tells_that_it_is_at_work() {
    let database = TestDatabase::new().await;
    let client = database.connect().await;
    let call = json!({
        "name": "query",
        // So long that there is always another notification to come.
        "arguments": {"sql": "SELECT pg_sleep(0.02) FROM generate_series(1, 100000)"},
        "_meta": {"progressToken": "p"},
    });
    client.request("tools/call", call).await.unwrap();
    let first = client.notification().await.unwrap();
    assert_eq!(first.method, "notifications/progress");
    assert!(first.params["progress"].as_u64().unwrap() >= 100, "{first:?}");
    loop {
        let next = client.notification().await.unwrap();
        let message = next.params["message"].as_str().unwrap();
        let text = message.strip_prefix("milliseconds since the call began").unwrap();
        if let Some(rows) =
            text.strip_prefix("; ").and_then(|text| text.strip_suffix(" rows so far"))
        {
            // The first rows are read 32 at a time.
            assert_eq!(rows.parse::<u64>().unwrap() % 32, 0, "{message}");
            break;
        }
        assert_eq!(text, "");
    }
}

#[tokio::test]
async fn cursors_do_not_use_up_the_connections() {
    let database = TestDatabase::new().await;
    let client = connect(&[&database.url(), "--max-connections", "2"], Revision::V2025_11_25).await;
    let series = json!({"sql": "SELECT generate_series(1, 1000)", "max_rows": 1});
    let first = result(&client, "query", series.clone()).await["next_cursor"].clone();
    let second = result(&client, "query", series.clone()).await["next_cursor"].clone();
    assert!(pid(&client).await.is_number());
    let text = refusal(&client, "fetch_rows", json!({"cursor": first})).await;
    assert!(text.contains("The cursor is unknown or has expired"), "{text}");
    let next = result(&client, "fetch_rows", json!({"cursor": second, "max_rows": 2})).await;
    assert_eq!(next["rows"], json!([[2], [3]]));
}
