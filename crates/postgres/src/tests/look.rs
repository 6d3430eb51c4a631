//! What there is: schemas, objects, tables, plans, and the same as resources.

use mcp::Revision;
use serde_json::{Value, json};

use super::{TestDatabase, connect, refusal, result, run};

#[tokio::test]
async fn schemas_and_objects_are_listed() {
    let database = TestDatabase::new().await;
    let client = database.connect().await;
    let found = result(&client, "list_databases", json!({})).await;
    assert_eq!(found["databases"], json!([database.name]));
    let found = result(&client, "list_schemas", json!({})).await;
    let sales = json!({"name": "sales", "comment": "Orders and what is in them", "tables": 1, "views": 1, "functions": 1});
    assert_eq!(found["schemas"][1], sales);
    let system = result(&client, "list_schemas", json!({"system": true})).await;
    assert!(system["schemas"].as_array().unwrap().iter().any(|s| s["name"] == "pg_catalog"));
    for (arguments, names) in [
        (
            json!({}),
            json!(["plpgsql?", "customer_id_seq", "customer", "tax", "order", "status", "revenue"]),
        ),
        (json!({"schema": "sales"}), json!(["tax", "order", "status", "revenue"])),
        (json!({"schema": "sales", "kinds": ["table", "view"]}), json!(["order", "revenue"])),
        (
            json!({"kinds": ["index"]}),
            json!(["customer_email_key", "customer_pkey", "order_open", "order_pkey"]),
        ),
        (
            json!({"schema": "public", "kinds": ["column"]}),
            json!(["email", "id", "joined", "name"]),
        ),
        (json!({"schema": "none"}), json!([])),
        (json!({"kinds": ["table"], "limit": 1, "offset": 1}), json!(["order"])),
    ] {
        let found = result(&client, "list_objects", arguments.clone()).await;
        let objects = found["objects"].as_array().unwrap().iter();
        let objects: Vec<_> = objects.map(|object| object["name"].clone()).collect();
        let names: Vec<Value> =
            names.as_array().unwrap().iter().filter(|n| *n != "plpgsql?").cloned().collect();
        assert_eq!(objects, names, "{arguments}");
    }
    let page = result(&client, "list_objects", json!({"kinds": ["table"], "limit": 1})).await;
    assert_eq!(page["total"], 2);
}

#[tokio::test]
async fn objects_are_found_by_name_and_comment() {
    let database = TestDatabase::new().await;
    let client = database.connect().await;
    for (pattern, names) in [
        ("STAT", json!(["column status", "type status"])),
        ("receipt", json!(["column email"])),
        ("ord%r", json!(["table order"])),
        ("order_", json!(["index order_open", "index order_pkey"])),
        ("sal", json!(["schema sales"])),
        ("nothing like it", json!([])),
    ] {
        let found = result(&client, "search_objects", json!({"pattern": pattern})).await;
        let objects = found["objects"].as_array().unwrap().iter();
        let objects: Vec<_> = objects
            .map(|object| {
                json!(format!(
                    "{} {}",
                    object["kind"].as_str().unwrap(),
                    object["name"].as_str().unwrap()
                ))
            })
            .collect();
        assert_eq!(json!(objects), names, "{pattern}");
    }
    let enumerated =
        result(&client, "search_objects", json!({"pattern": "status", "kinds": ["type"]})).await;
    assert_eq!(enumerated["objects"][0]["detail"], "enum open, paid, sent");
}

#[tokio::test]
async fn a_table_is_described_with_all_that_belongs_to_it() {
    let database = TestDatabase::new().await;
    let client = database.connect().await;
    let order = result(&client, "describe_table", json!({"table": "sales.order"})).await;
    for (pointer, right) in [
        ("/schema", json!("sales")),
        ("/kind", json!("table")),
        ("/rows_estimate", json!(3)),
        ("/columns/3/name", json!("total")),
        ("/columns/3/type", json!("numeric(10,2)")),
        ("/columns/3/nullable", json!(false)),
        ("/columns/2/default", json!("'open'::sales.status")),
        ("/columns/1/statistics/null_fraction", json!(0.0)),
        ("/constraints/0/kind", json!("primary_key")),
        ("/constraints/0/columns", json!(["id"])),
        ("/constraints/1/definition", json!("CHECK ((total >= (0)::numeric))")),
        ("/constraints/2/references", json!("customer")),
        ("/constraints/2/references_columns", json!(["id"])),
        (
            "/indexes/1/definition",
            json!(
                "CREATE INDEX order_open ON sales.\"order\" USING btree (placed) WHERE (status = 'open'::sales.status)"
            ),
        ),
        ("/privileges", json!(["DELETE", "INSERT", "SELECT", "TRUNCATE", "UPDATE"])),
    ] {
        assert_eq!(order.pointer(pointer), Some(&right), "{pointer}: {order:#}");
    }
    let customer = result(&client, "describe_table", json!({"table": "customer"})).await;
    assert_eq!(customer["comment"], "People who have bought something");
    assert_eq!(customer["columns"][0]["generated"], "by default as identity");
    assert_eq!(customer["columns"][2]["comment"], "Where receipts go");
    assert_eq!(customer["referenced_by"][0]["table"], "sales.\"order\"");
    let view =
        result(&client, "describe_table", json!({"table": "revenue", "schema": "sales"})).await;
    assert!(view["definition"].as_str().unwrap().contains("sum("));
    for missing in [
        json!({"table": "none"}),
        json!({"table": "customer", "schema": "sales"}),
        json!({"table": "a.b.c"}),
    ] {
        let text = refusal(&client, "describe_table", missing.clone()).await;
        assert!(text.starts_with("There is no table or view"), "{missing}: {text}");
    }
    let reader = connect(&[&database.url_as("shop_reader")], Revision::V2025_11_25).await;
    let seen = result(&reader, "describe_table", json!({"table": "customer"})).await;
    assert_eq!(seen["privileges"], json!(["SELECT"]));
}

#[tokio::test]
async fn names_with_anything_in_them_are_found() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    run(
        &mut admin,
        "CREATE SCHEMA \"a/b c\"; CREATE TABLE \"a/b c\".\"d.e%\u{fc}'\" (x int);
        CREATE TABLE \"schema\" (y int); CREATE TABLE sales.\"schema\" (z int);
        CREATE TABLE part (k int) PARTITION BY LIST (k);
        CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1)",
    )
    .await;
    let client = database.connect().await;
    let arguments = json!({"schema": "a/b c", "table": "d.e%\u{fc}'"});
    let found = result(&client, "describe_table", arguments).await;
    assert_eq!(found["columns"][0]["name"], "x");
    let listed = client.list("resources/list", "resources").await.unwrap();
    let uris: Vec<_> = listed.iter().map(|resource| resource["uri"].as_str().unwrap()).collect();
    let odd = format!("postgres://{}/a%2Fb%20c/d.e%25%C3%BC%27", database.name);
    assert!(uris.contains(&odd.as_str()), "{uris:?}");
    // A partition is found where its parent is.
    assert!(!uris.iter().any(|uri| uri.contains("part_1")), "{uris:?}");
    for uri in uris {
        let read = client.read_resource(uri).await.unwrap();
        assert!(read[0]["text"].as_str().unwrap().contains("\"columns\""), "{uri}");
    }
    let partitioned = result(&client, "describe_table", json!({"table": "part"})).await;
    assert_eq!(partitioned["partition_key"], "LIST (k)");
    assert_eq!(partitioned["partitions"], 1);
}

#[tokio::test]
async fn tables_are_resources_in_both_forms() {
    let database = TestDatabase::new().await;
    let client = database.connect().await;
    let name = &database.name;
    let read = client.read_resource(&format!("postgres://{name}/customer/schema")).await.unwrap();
    let columns: Value = serde_json::from_str(read[0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(columns[0], json!({"column_name": "id", "data_type": "integer"}));
    assert_eq!(read[0]["mimeType"], "application/json");
    run(&mut database.admin().await, "CREATE TABLE sales.\"schema\" (z int)").await;
    let read = client.read_resource(&format!("postgres://{name}/sales/schema")).await.unwrap();
    assert!(read[0]["text"].as_str().unwrap().contains("\"z\""), "{read}");
    for missing in ["none/public/customer", "{name}/public/none", "{name}/none/schema", "{name}/a"]
    {
        let uri = format!("postgres://{}", missing.replace("{name}", name));
        assert!(client.read_resource(&uri).await.is_err(), "{uri}");
    }
    for (uri, argument, typed, chosen, right) in [
        ("postgres://{database}/{schema}/{table}", "database", "test", json!({}), json!([name])),
        ("postgres://{database}/{schema}/{table}", "schema", "s", json!({}), json!(["sales"])),
        (
            "postgres://{database}/{schema}/{table}",
            "table",
            "",
            json!({"schema": "sales"}),
            json!(["order", "revenue", "schema"]),
        ),
        ("postgres://{database}/{table}/schema", "table", "c", json!({}), json!(["customer"])),
    ] {
        let completion = json!({
            "ref": {"type": "ref/resource", "uri": uri},
            "argument": {"name": argument, "value": typed},
            "context": {"arguments": chosen},
        });
        let completed = client.request("completion/complete", completion).await.unwrap();
        assert_eq!(completed["completion"]["values"], right, "{uri} {argument}");
    }
}

#[tokio::test]
async fn plans_are_read() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    run(&mut admin, "CREATE TABLE big AS SELECT n, n % 10 AS m FROM generate_series(1, 20000) n; ANALYZE big;
        CREATE FUNCTION many() RETURNS SETOF int LANGUAGE sql ROWS 1 AS 'SELECT generate_series(1, 500)';").await;
    let client = database.connect().await;
    let plan = result(
        &client,
        "explain_query",
        json!({"sql": "SELECT * FROM big WHERE m = $1", "params": [3]}),
    )
    .await;
    assert_eq!(plan["sequential_scans"][0]["step"], "Seq Scan on big");
    assert_eq!(plan["sequential_scans"][0]["filter"], "(m = 3)");
    assert_eq!(plan["hottest"]["step"], "Seq Scan on big");
    assert!(plan["total_cost"].as_f64().unwrap() > 100.0);
    assert!(plan.get("worst_estimate").is_none() && plan.get("execution_ms").is_none());
    let analyze = json!({"sql": "SELECT count(*) FROM many()", "analyze": true});
    let plan = result(&client, "explain_query", analyze).await;
    assert_eq!(plan["worst_estimate"]["rows_actual"], 500.0);
    assert_eq!(plan["worst_estimate"]["factor"], 500.0);
    assert!(plan["execution_ms"].as_f64().unwrap() > 0.0);
    // What would write is planned and not run.
    let app = connect(&[&database.url_as("shop_app")], Revision::V2025_11_25).await;
    let plan = result(&app, "explain_query", json!({"sql": "DELETE FROM customer"})).await;
    assert_eq!(plan["plan"]["Operation"], "Delete");
    for (sql, analyze) in [
        ("DELETE FROM big", true),
        ("ANALYZE SELECT 1", false),
        ("(ANALYZE) DELETE FROM big", false),
        ("SELECT 1; DELETE FROM big", false),
        ("SELECT 1; DELETE FROM big", true),
        ("SELECT pg_read_file('x')", true),
        ("WITH d AS (DELETE FROM big RETURNING 1) SELECT * FROM d", true),
    ] {
        refusal(&client, "explain_query", json!({"sql": sql, "analyze": analyze})).await;
    }
    let left = result(&client, "query", json!({"sql": "SELECT count(*) FROM big"})).await;
    assert_eq!(left["rows"], json!([[20000]]));
}
