//! Resources that change and resources that go on: subscriptions and pages of results.

use std::time::Duration;

use mcp::Revision;
use mcp::client::Client;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{TestDatabase, call, config, connect, run};

#[tokio::test]
async fn a_result_that_goes_on_is_linked_page_by_page() {
    let database = TestDatabase::new().await;
    let url = database.url();
    let client = connect(&[&url, "--max-result-bytes", "20000"], Revision::V2025_11_25).await;
    let sql = "SELECT n, repeat('x', 50) FROM generate_series(1, 1000) n";
    let answer = call(&client, "query", json!({"sql": sql, "max_rows": 10})).await;
    let text: Value = serde_json::from_str(answer.content[0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&text, answer.content.len()), (&answer.structured, 2));
    let link = &answer.content[1];
    assert_eq!((&link["type"], &link["name"]), (&json!("resource_link"), &json!("next rows")));
    let mut uri = link["uri"].as_str().unwrap().to_owned();
    let mut rows: Vec<Value> = text["rows"].as_array().unwrap().clone();
    loop {
        let read = client.read_resource(&uri).await.unwrap();
        assert_eq!(read[0]["mimeType"], "application/json");
        let text = read[0]["text"].as_str().unwrap();
        assert!(text.len() < 25_000, "{}", text.len());
        let page: Value = serde_json::from_str(text).unwrap();
        rows.extend(page["rows"].as_array().unwrap().iter().cloned());
        // A page is there once.
        assert!(client.read_resource(&uri).await.is_err());
        let Some(next) = page["next_cursor"].as_str() else { break };
        uri = format!("postgres-result://{next}");
    }
    let numbers: Vec<_> = rows.iter().map(|row| row[0].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=1000).collect::<Vec<_>>());
    assert!(client.read_resource("postgres-result://0123").await.is_err());
}

async fn subscribe(client: &Client, uri: &str) {
    client.request("resources/subscribe", json!({"uri": uri})).await.unwrap();
}

async fn updated(client: &Client, within: Duration) -> Option<String> {
    let notification = timeout(within, client.notification()).await.ok()?.unwrap();
    assert_eq!(notification.method, "notifications/resources/updated");
    Some(notification.params["uri"].as_str().unwrap().to_owned())
}

/// With the event trigger a change is told at once; without, when it is next looked for.
#[tokio::test]
async fn subscribers_hear_of_changed_tables() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    let name = &database.name;
    let customer = format!("postgres://{name}/public/customer");
    let order = format!("postgres://{name}/order/schema");
    for (poll, has_trigger) in [("1", false), ("3600", true)] {
        if has_trigger {
            run(&mut admin, config(&["--print-watch-sql"]).printed().unwrap()).await;
        }
        let url = database.url();
        let client = connect(&[&url, "--poll-secs", poll], Revision::V2025_11_25).await;
        subscribe(&client, &customer).await;
        subscribe(&client, &order).await;
        // The first look has to be over.
        tokio::time::sleep(Duration::from_millis(800)).await;
        for (sql, changed) in [
            ("ALTER TABLE customer ADD note text", &customer),
            ("CREATE INDEX customer_note ON customer (note)", &customer),
            ("COMMENT ON COLUMN customer.note IS 'Said'", &customer),
            ("ALTER TABLE customer DROP note", &customer),
            ("ALTER TABLE sales.\"order\" ALTER total DROP NOT NULL", &order),
            ("ALTER TABLE sales.\"order\" ALTER total SET NOT NULL", &order),
        ] {
            run(&mut admin, sql).await;
            let told = updated(&client, Duration::from_secs(10)).await;
            assert_eq!(told.as_ref(), Some(changed), "{sql}, trigger: {has_trigger}");
        }
        // Rows are no structure, and another table is nobody's business.
        run(&mut admin, "UPDATE customer SET name = name; ANALYZE customer; CREATE TABLE x (a int); DROP TABLE x").await;
        assert_eq!(updated(&client, Duration::from_millis(1500)).await, None);
        // Whoever has unsubscribed hears nothing.
        client.request("resources/unsubscribe", json!({"uri": customer})).await.unwrap();
        run(&mut admin, "ALTER TABLE customer ADD extra int; ALTER TABLE customer DROP extra")
            .await;
        assert_eq!(updated(&client, Duration::from_millis(1500)).await, None);
    }
}

/// The watcher asks nothing as long as nobody is subscribed.
#[tokio::test]
async fn nothing_is_looked_at_for_nobody() {
    let database = TestDatabase::new().await;
    let client = connect(&[&database.url(), "--poll-secs", "1"], Revision::V2025_11_25).await;
    client.list("tools/list", "tools").await.unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let mut admin = database.admin().await;
    let others = "SELECT count(*)::text FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    assert_eq!(super::value(&mut admin, others).await.as_deref(), Some("0"));
}

#[tokio::test]
async fn columns_are_resources_and_completed() {
    let database = TestDatabase::new().await;
    let client = database.connect().await;
    let name = &database.name;
    let uri = format!("postgres://{name}/public/customer/email");
    let read = client.read_resource(&uri).await.unwrap();
    let column: Value = serde_json::from_str(read[0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&column["type"], &column["comment"]),
        (&json!("text"), &json!("Where receipts go"))
    );
    let none = format!("postgres://{name}/public/customer/none");
    assert!(client.read_resource(&none).await.is_err());
    for (typed, table, right) in [
        ("", "customer", json!(["email", "id", "joined", "name"])),
        ("jo", "customer", json!(["joined"])),
        ("", "none", json!([])),
    ] {
        let completion = json!({
            "ref": {"type": "ref/resource", "uri": "postgres://{database}/{schema}/{table}/{column}"},
            "argument": {"name": "column", "value": typed},
            "context": {"arguments": {"database": name, "schema": "public", "table": table}},
        });
        let completed = client.request("completion/complete", completion).await.unwrap();
        let mut values: Vec<String> =
            serde_json::from_value(completed["completion"]["values"].clone()).unwrap();
        values.sort();
        assert_eq!(json!(values), right, "{typed} {table}");
    }
}
