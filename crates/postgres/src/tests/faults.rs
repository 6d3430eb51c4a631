//! What goes wrong with databases: the answer says what, the server lives, and goes on when it can.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mcp::client::{Answering, Client};
use mcp::{Limits, Revision};
use serde_json::json;
use sqlx::Connection;
use sqlx::postgres::PgConnection;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::cluster::Cluster;
use super::{FIXTURE, TestDatabase, cluster, config, connect, refusal, result, run, value};
use crate::server;

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

#[tokio::test]
async fn a_connection_killed_in_the_middle_is_told() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    let client = connect(&[&database.url(), "--max-connections", "1"], Revision::V2025_11_25).await;
    for _ in 0..5 {
        let call = json!({"name": "query", "arguments": {"sql": "SELECT pg_sleep(600)"}});
        let call = client.start("tools/call", call);
        let asleep = "SELECT count(*)::text FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event = 'PgSleep'";
        while value(&mut admin, asleep).await.as_deref() != Some("1") {}
        run(
            &mut admin,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event = 'PgSleep'",
        )
        .await;
        let answer = call.answer().await.unwrap();
        assert!(answer.to_string().contains("connection to the database was lost"), "{answer}");
        let works = result(&client, "query", json!({"sql": "SELECT 1"})).await;
        assert_eq!(works["rows"], json!([[1]]));
    }
}

/// A network between server and database that can be stopped.
struct Proxy {
    port: u16,
    stalled: Arc<AtomicBool>,
}

impl Proxy {
    async fn before(port: u16) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Self { port: listener.local_addr().unwrap().port(), stalled: Arc::default() };
        let stalled = Arc::clone(&proxy.stalled);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let far = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                let (near_in, near_out) = near.into_split();
                let (far_in, far_out) = far.into_split();
                tokio::spawn(pass(near_in, far_out, Arc::clone(&stalled)));
                tokio::spawn(pass(far_in, near_out, Arc::clone(&stalled)));
            }
        });
        proxy
    }
}

/// Hands on what comes, but nothing while it is stalled, not even the end.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    stalled: Arc<AtomicBool>,
) {
    let mut buffer = vec![0; 8192];
    loop {
        let read = from.read(&mut buffer).await.unwrap_or(0);
        while stalled.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if read == 0 || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn a_stalled_network_costs_bounded_time_and_no_connection() {
    if cluster().port() == 0 {
        return;
    }
    let database = TestDatabase::new().await;
    let proxy = Proxy::before(cluster().port()).await;
    let port = cluster().port().to_string();
    let url = database.url().replace(&port, &proxy.port.to_string());
    let arguments = [&url, "--max-connections", "2", "--connect-timeout-secs", "1"];
    let limits = Limits { call_timeout: Duration::from_secs(1), ..Limits::default() };
    let server = server(config(&arguments)).unwrap().limits(limits);
    let client = Client::in_memory(server, Revision::V2025_11_25, Answering::nothing());
    let client = client.await.unwrap();
    let one = json!({"sql": "SELECT 1"});
    result(&client, "query", one.clone()).await;
    // In the middle of a query, and before the next.
    let call = json!({"name": "query", "arguments": {"sql": "SELECT pg_sleep(0.3)"}});
    let call = client.start("tools/call", call);
    tokio::time::sleep(Duration::from_millis(100)).await;
    proxy.stalled.store(true, Ordering::Relaxed);
    let since = Instant::now();
    let answer = call.answer().await.unwrap();
    assert!(answer.to_string().contains("Stopped after 1 s"), "{answer}");
    for _ in 0..3 {
        let text = refusal(&client, "query", one.clone()).await;
        let says = ["no answer in time", "Stopped after 1 s", "All 2 connections"];
        assert!(says.iter().any(|part| text.contains(part)), "{text}");
    }
    assert!(since.elapsed() < Duration::from_secs(6), "{:?}", since.elapsed());
    proxy.stalled.store(false, Ordering::Relaxed);
    // What was being given up comes back within its own limits; then all of them are there.
    let both = || async {
        let calls = [0, 1].map(|_| call_of(&client, "SELECT pg_sleep(0.1)"));
        futures_util::future::join_all(calls).await.iter().all(|answer| !answer.is_error)
    };
    let back = Instant::now();
    while !both().await {
        assert!(back.elapsed() < Duration::from_secs(20));
    }
}

async fn call_of(client: &Client, sql: &str) -> mcp::client::ToolAnswer {
    super::call(client, "query", json!({"sql": sql})).await
}

#[tokio::test]
async fn errors_of_a_full_disk_are_told() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    run(
        &mut admin,
        "CREATE FUNCTION full_disk() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION
            'could not extend file \"base/1/2\": No space left on device' USING ERRCODE = 'disk_full',
            HINT = 'Check free disk space.'; END $$;
        ALTER ROLE shop_app SET temp_file_limit = '1MB'",
    )
    .await;
    let client = connect(&[&database.url_as("shop_app")], Revision::V2025_11_25).await;
    for (sql, says) in [
        ("SELECT full_disk()", &["No space left on device", "53100", "Check free disk space"][..]),
        (
            "SELECT n FROM generate_series(1, 2000000) n ORDER BY md5(n::text)",
            &["temporary file size exceeds", "53400"],
        ),
    ] {
        let text = refusal(&client, "query", json!({"sql": sql})).await;
        for part in says {
            assert!(text.contains(part), "{sql}: {text}");
        }
        result(&client, "query", json!({"sql": "SELECT 1"})).await;
    }
    run(&mut admin, "ALTER ROLE shop_app RESET temp_file_limit").await;
}

/// The most memory this process has had, in MB; 0 where the system does not tell.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0)
        / 1024
}

#[tokio::test]
async fn what_is_very_large_is_answered_within_bounds() {
    let database = TestDatabase::new().await;
    let client = database.connect().await;
    result(&client, "query", json!({"sql": "SELECT 1"})).await;
    let before = peak_mb();
    // PostgreSQL's own limit of columns, and one more.
    let columns = |number: u32| {
        let columns: Vec<_> = (1..=number).map(|n| format!("{n} AS c{n}")).collect();
        json!({"sql": format!("SELECT {}", columns.join(", "))})
    };
    let wide = result(&client, "query", columns(1664)).await;
    assert_eq!(wide["columns"].as_array().unwrap().len(), 1664);
    assert_eq!(wide["rows"][0][1663], 1664);
    let text = refusal(&client, "query", columns(1665)).await;
    assert!(text.contains("at most 1664"), "{text}");
    for (sql, least, most) in [
        // A gigabyte in rows of a kilobyte, in rows of a megabyte, and in many values.
        ("SELECT repeat('x', 1000) FROM generate_series(1, 1000000)", 200, 300),
        ("SELECT repeat('x', 1000000) FROM generate_series(1, 1000)", 10, 20),
        ("SELECT generate_series(1, 100000000), 1, 2, 3", 5000, 40_000),
    ] {
        let started = Instant::now();
        let found = result(&client, "query", json!({"sql": sql, "max_rows": 100_000})).await;
        let rows = found["row_count"].as_u64().unwrap();
        assert!((least..most).contains(&rows), "{sql}: {rows}");
        assert!(found["next_cursor"].is_string() && found["truncated"] == true, "{sql}");
        assert!(found.to_string().len() < 500_000, "{sql}");
        assert!(started.elapsed() < Duration::from_secs(20), "{sql}: {:?}", started.elapsed());
    }
    // A value of ten megabytes, of each way of writing.
    for value in [
        "repeat('x', 10000000)",
        "convert_to(repeat('x', 5000000), 'UTF8')",
        "to_json(repeat('x', 10000000))",
        "ARRAY[repeat('x', 10000000)]",
        "ROW(repeat('x', 10000000))",
    ] {
        let found = result(&client, "query", json!({"sql": format!("SELECT {value}, 1")})).await;
        let cut = &found["cut_values"][0];
        assert!(cut["bytes"].as_u64().unwrap() >= 10_000_000, "{value}: {cut}");
        assert_eq!(found["rows"][0][0].as_str().unwrap().len(), 16_384, "{value}");
        assert_eq!(found["rows"][0][1], 1, "{value}");
    }
    let grown = peak_mb() - before;
    assert!(grown < 150, "{grown} MB");
}
