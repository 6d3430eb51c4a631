//! What goes wrong with databases: the answer says what, the server lives, and goes on when it can.

use std::net::TcpListener;

use mcp::Revision;
use serde_json::json;
use sqlx::Connection;
use sqlx::postgres::PgConnection;

use super::cluster::Cluster;
use super::{FIXTURE, TestDatabase, connect, refusal, result, run, value};

#[tokio::test]
async fn a_database_that_is_not_there_is_no_reason_not_to_start() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().map(|address| (silent, address.port())).unwrap();
    let database = TestDatabase::new().await;
    let down = format!("down=postgres://u:hidden@127.0.0.1:{port}/db");
    let stalled = format!("stalled=postgres://u:hidden@127.0.0.1:{}/db", silent.1);
    let missing = format!("missing={}", database.url().replace(&database.name, "no_such_database"));
    let arguments = [&down, &stalled, &missing, &database.url(), "--connect-timeout-secs", "1"];
    let client = connect(&arguments, Revision::V2025_11_25).await;
    for (name, says) in [
        ("down", "nothing listens there"),
        ("stalled", "no answer in time"),
        ("missing", "the server has no such database"),
    ] {
        let text = refusal(&client, "query", json!({"sql": "SELECT 1", "database": name})).await;
        assert!(text.contains(says), "{name}: {text}");
        assert!(!text.contains("hidden") && !text.contains("127.0.0.1"), "{text}");
    }
    let name = &database.name;
    let works = result(&client, "query", json!({"sql": "SELECT 1", "database": name})).await;
    assert_eq!(works["rows"], json!([[1]]));
    // The list of resources leaves out what cannot be reached.
    let listed = client.list("resources/list", "resources").await.unwrap();
    assert_eq!(listed.len(), 3, "{listed:?}");
}

#[tokio::test]
async fn a_restart_in_the_middle_is_told_and_survived() {
    let mut cluster = Cluster::start("shop", FIXTURE).unwrap();
    if cluster.port() == 0 {
        // Somebody else's server is not ours to restart.
        return;
    }
    let client = connect(&[&cluster.url("shop")], Revision::V2025_11_25).await;
    let mut admin = PgConnection::connect(&cluster.url("shop")).await.unwrap();
    let page = json!({"sql": "SELECT generate_series(1, 100)", "max_rows": 1});
    let cursor = result(&client, "query", page).await["next_cursor"].clone();
    let call = json!({"name": "query", "arguments": {"sql": "SELECT pg_sleep(600)"}});
    let call = client.start("tools/call", call);
    let active = "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    while value(&mut admin, active).await.as_deref() != Some("1") {}
    cluster.stop();
    let answer = call.answer().await.unwrap();
    assert_eq!(answer["isError"], true);
    assert!(answer.to_string().contains("connection to the database was lost"), "{answer}");
    let text = refusal(&client, "query", json!({"sql": "SELECT 1"})).await;
    assert!(text.contains("cannot be reached (nothing listens there)"), "{text}");
    cluster.restart().unwrap();
    let works = result(&client, "query", json!({"sql": "SELECT count(*) FROM customer"})).await;
    assert_eq!(works["rows"], json!([[3]]));
    let text = refusal(&client, "fetch_rows", json!({"cursor": cursor})).await;
    assert!(text.contains("connection to the database was lost"), "{text}");
}

#[tokio::test]
async fn a_killed_connection_is_replaced() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    let client = connect(&[&database.url(), "--max-connections", "3"], Revision::V2025_11_25).await;
    for _ in 0..10 {
        let found = result(&client, "query", json!({"sql": "SELECT pg_backend_pid()"})).await;
        assert_eq!(found["row_count"], 1);
        let kill = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()";
        run(&mut admin, kill).await;
    }
}

#[tokio::test]
async fn a_busy_pool_is_told_after_a_while() {
    let database = TestDatabase::new().await;
    let arguments = [&database.url(), "--max-connections", "1", "--connect-timeout-secs", "1"];
    let client = connect(&arguments, Revision::V2025_11_25).await;
    let call = json!({"name": "query", "arguments": {"sql": "SELECT pg_sleep(600)"}});
    let call = client.start("tools/call", call);
    let text = refusal(&client, "query", json!({"sql": "SELECT 1"})).await;
    assert!(text.contains("All 1 connections to"), "{text}");
    call.cancel();
    result(&client, "query", json!({"sql": "SELECT 1"})).await;
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_result_is_told_and_leaves_nothing() {
    let database = TestDatabase::new().await;
    let client = connect(&[&database.url(), "--max-connections", "2"], Revision::V2025_11_25).await;
    let sql = "SELECT 1 / (500 - n) FROM generate_series(1, 1000) n";
    let page = result(&client, "query", json!({"sql": sql, "max_rows": 10})).await;
    let mut arguments = json!({"cursor": page["next_cursor"], "max_rows": 1000});
    let text = refusal(&client, "fetch_rows", arguments.take()).await;
    assert!(text.contains("division by zero"), "{text}");
    let text = refusal(&client, "query", json!({"sql": sql, "max_rows": 1000})).await;
    assert!(text.contains("division by zero"), "{text}");
    let works = result(&client, "query", json!({"sql": "SELECT 1"})).await;
    assert_eq!(works["rows"], json!([[1]]));
}
