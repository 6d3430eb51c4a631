//! The read path: what comes back, how much of it, and what is refused.

use mcp::Revision;
use serde_json::{Value, json};

use super::{TestDatabase, call, connect, refusal, result};

async fn rows(database: &TestDatabase, sql: &str) -> Value {
    let client = database.connect().await;
    result(&client, "query", json!({"sql": sql})).await["rows"].clone()
}

#[tokio::test]
async fn reads_in_every_revision() {
    let database = TestDatabase::new().await;
    for revision in Revision::ALL {
        let client = connect(&[&database.url()], revision).await;
        let sql = "SELECT id, name, email FROM customer ORDER BY id";
        let answer = call(&client, "query", json!({"sql": sql})).await;
        let answer: Value = serde_json::from_str(&answer.text()).unwrap();
        let right = json!([
            [1, "Ada", "ada@example.org"],
            [2, "Grace", null],
            [3, "Łucja", "lucja@example.org"]
        ]);
        assert_eq!(answer["rows"], right, "{revision}");
        assert_eq!(answer["row_count"], 3);
        assert_eq!(answer["truncated"], false);
        assert!(answer.get("next_cursor").is_none());
        let column = json!({"name": "id", "type": "integer", "oid": 23, "json": "integer"});
        assert_eq!(answer["columns"][0], column);
    }
}

#[tokio::test]
async fn everything_that_is_one_query_runs() {
    let database = TestDatabase::new().await;
    for (sql, right) in [
        ("SELECT 1", json!([[1]])),
        ("SELECT 1;", json!([[1]])),
        ("SELECT 1; -- done", json!([[1]])),
        ("/* a */ SELECT 1 -- b", json!([[1]])),
        ("-- first\nSELECT 1", json!([[1]])),
        ("(SELECT 1)", json!([[1]])),
        ("VALUES (1, 'a'), (2, NULL)", json!([[1, "a"], [2, null]])),
        ("TABLE public.customer LIMIT 0", json!([])),
        ("WITH n AS (SELECT 1 AS a) SELECT a FROM n", json!([[1]])),
        ("SELECT 1 AS a, 2 AS a", json!([[1, 2]])),
        ("SELECT FROM customer", json!([[], [], []])),
        ("SELECT U&'d\\0061t!' ", json!([["dat!"]])),
        ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY id) FROM customer", json!([[2]])),
        ("SELECT * FROM ROWS FROM (generate_series(1, 2)) t", json!([[1], [2]])),
        ("SELECT COLLATION FOR ('a'::text)", json!([["\"default\""]])),
        ("SELECT sales.tax(100)", json!([["19.00"]])),
        ("SELECT 'pg_read_file(1)' AS harmless", json!([["pg_read_file(1)"]])),
        ("SELECT name FROM customer WHERE id = 3", json!([["Łucja"]])),
    ] {
        assert_eq!(rows(&database, sql).await, right, "{sql}");
    }
}

#[tokio::test]
async fn columns_are_told_for_no_rows_too() {
    let database = TestDatabase::new().await;
    let client = database.connect().await;
    for (select, names) in [
        ("SELECT id, name FROM customer", json!([["id", "integer"], ["name", "text"]])),
        (
            "SELECT 1 AS a, now() AS a, NULL",
            json!([["a", "integer"], ["a", "timestamp with time zone"], ["?column?", "text"]]),
        ),
        ("SELECT '{[1,2)}'::int4multirange AS m", json!([["m", "int4multirange"]])),
        ("SELECT status FROM sales.\"order\"", json!([["status", "sales.status"]])),
        ("SELECT ROW(1, 'a') AS r, ARRAY[1] AS l", json!([["r", "record"], ["l", "integer[]"]])),
    ] {
        for end in ["", " WHERE false", " WHERE false;", " WHERE $1::text = 'none'"] {
            let sql = format!("{select}{end}");
            let params = if sql.contains("$1") { json!(["some"]) } else { json!([]) };
            let found = result(&client, "query", json!({"sql": sql, "params": params})).await;
            let columns = found["columns"].as_array().unwrap().iter();
            let columns: Vec<_> = columns.map(|c| json!([c["name"], c["type"]])).collect();
            assert_eq!(json!(columns), names, "{sql}");
        }
    }
    let none = result(&client, "query", json!({"sql": "SELECT FROM customer WHERE false"})).await;
    assert_eq!(none["columns"], json!([]));
}

#[tokio::test]
async fn parameters_of_any_type_are_bound() {
    let database = TestDatabase::new().await;
    let client = database.connect().await;
    for (sql, params, right) in [
        ("SELECT $1::int + 1", json!([41]), json!([[42]])),
        ("SELECT name FROM customer WHERE id = $1", json!([1]), json!([["Ada"]])),
        ("SELECT name FROM customer WHERE id = $1", json!(["1"]), json!([["Ada"]])),
        (
            "SELECT $1",
            json!(["'; DROP TABLE customer; --"]),
            json!([["'; DROP TABLE customer; --"]]),
        ),
        ("SELECT $1::text IS NULL, $2::bool", json!([null, true]), json!([[true, true]])),
        ("SELECT $1::numeric", json!([1.50]), json!([["1.5"]])),
        (
            "SELECT $1::numeric",
            json!(["12345678901234567890.5"]),
            json!([["12345678901234567890.5"]]),
        ),
        ("SELECT $1::int8", json!(["9223372036854775807"]), json!([["9223372036854775807"]])),
        (
            "SELECT id FROM customer WHERE id = ANY ($1) ORDER BY 1",
            json!([[3, 1, 9]]),
            json!([[1], [3]]),
        ),
        (
            "SELECT $1::text[]",
            json!([["a", null, "b,\"\\c", ""]]),
            json!([[["a", null, "b,\"\\c", ""]]]),
        ),
        ("SELECT $1::int[]", json!([[[1, 2], [3, 4]]]), json!([[[[1, 2], [3, 4]]]])),
        ("SELECT $1::jsonb -> 'a'", json!([{"a": [1, null]}]), json!([[[1, null]]])),
        ("SELECT $1::jsonb", json!([[1, 2]]), json!([[[1, 2]]])),
        (
            "SELECT $1::uuid",
            json!(["033660ce-0000-4000-8000-000000000001"]),
            json!([["033660ce-0000-4000-8000-000000000001"]]),
        ),
        (
            "SELECT $1::timestamptz",
            json!(["2026-01-02 03:04:05.678901+02"]),
            json!([["2026-01-02 01:04:05.678901+00"]]),
        ),
        ("SELECT $1::interval", json!(["1 mon -3 days"]), json!([["P1M-3D"]])),
        ("SELECT count(*) FROM sales.\"order\" WHERE status = $1", json!(["paid"]), json!([[1]])),
        ("SELECT $1::int4range", json!(["[1,5)"]), json!([["[1,5)"]])),
        ("SELECT $2::text || $1::text", json!(["a", "b"]), json!([["ba"]])),
    ] {
        let found = result(&client, "query", json!({"sql": sql, "params": params})).await;
        assert_eq!(found["rows"], right, "{sql} {params}");
    }
}

#[tokio::test]
async fn parameters_that_do_not_fit_are_refused() {
    let database = TestDatabase::new().await;
    let client = database.connect().await;
    for (sql, params, says) in [
        ("SELECT $1::int", json!([]), "give their values in `params`"),
        ("SELECT 1", json!([1]), "has 0 parameters"),
        ("SELECT $1::int", json!(["one"]), "invalid input syntax for type integer"),
        ("SELECT $1::text", json!(["a\u{0}b"]), "invalid byte sequence"),
    ] {
        let text = refusal(&client, "query", json!({"sql": sql, "params": params})).await;
        assert!(text.contains(says), "{sql}: {text}");
    }
}

#[tokio::test]
async fn refusals_say_what_is_wrong_and_where() {
    let database = TestDatabase::new().await;
    let client = database.connect().await;
    for (sql, says) in [
        ("SELEC 1", "at character 1"),
        ("SELECT a FROM customer", "column \"a\" does not exist (SQLSTATE 42703) at character 8"),
        (
            "SELECT nam FROM customer",
            "Hint: Perhaps you meant to reference the column \"customer.name\"",
        ),
        ("SELECT 1/0", "division by zero (SQLSTATE 22012)"),
        ("SELECT 1; SELECT 2", "One SELECT, VALUES, TABLE or WITH query"),
        ("UPDATE customer SET name = ''", "One SELECT, VALUES, TABLE or WITH query"),
        ("EXPLAIN SELECT 1", "One SELECT, VALUES, TABLE or WITH query"),
        ("SHOW server_version", "One SELECT, VALUES, TABLE or WITH query"),
        ("", "`sql` is empty"),
        ("  \n", "`sql` is empty"),
        ("SELECT 1\u{0}; DROP TABLE customer", "NUL"),
        ("SELECT pg_read_file('/etc/passwd')", "`pg_read_file` is not available"),
    ] {
        let text = refusal(&client, "query", json!({"sql": sql})).await;
        assert!(text.contains(says), "{sql}: {text}");
    }
    let other = refusal(&client, "query", json!({"sql": "SELECT 1", "database": "other"})).await;
    assert_eq!(other, format!("There is no database `other`; there are: {}", database.name));
}

#[tokio::test]
async fn a_long_result_comes_in_pages_of_one_snapshot() {
    let database = TestDatabase::new().await;
    let client = database.connect().await;
    let sql = "SELECT n, (SELECT count(*) FROM customer) FROM generate_series(1, 2500) n";
    let mut page = result(&client, "query", json!({"sql": sql, "max_rows": 1000})).await;
    super::run(&mut database.admin().await, "DELETE FROM customer").await;
    let mut seen = Vec::new();
    let mut pages = Vec::new();
    loop {
        let rows = page["rows"].as_array().unwrap().clone();
        pages.push(rows.len());
        seen.extend(rows);
        assert_eq!(page["columns"].as_array().unwrap().len(), 2);
        assert_eq!(page["truncated"], page.get("next_cursor").is_some());
        let Some(cursor) = page.get("next_cursor") else { break };
        let used = cursor.clone();
        page = result(&client, "fetch_rows", json!({"cursor": cursor, "max_rows": 1000})).await;
        let again = refusal(&client, "fetch_rows", json!({"cursor": used})).await;
        assert!(again.contains("The cursor is unknown or has expired"), "{again}");
    }
    assert_eq!(pages, [1000, 1000, 500]);
    assert!(seen.iter().zip(1..).all(|(row, n)| *row == json!([n, 3])));
}

#[tokio::test]
async fn the_last_row_of_a_page_is_not_the_last_of_all_unless_it_is() {
    let database = TestDatabase::new().await;
    let client = database.connect().await;
    for (rows, max_rows, truncated) in [(2, 3, false), (3, 3, false), (4, 3, true), (0, 1, false)] {
        let sql = format!("SELECT generate_series(1, {rows})");
        let page = result(&client, "query", json!({"sql": sql, "max_rows": max_rows})).await;
        assert_eq!(page["truncated"], truncated, "{rows} of {max_rows}");
        assert_eq!(page["row_count"], rows.min(max_rows));
    }
}

#[tokio::test]
async fn large_values_and_results_are_bounded() {
    let database = TestDatabase::new().await;
    let limits = ["--max-result-bytes", "20000", "--max-cell-bytes", "1000"];
    let client =
        connect(&[&[database.url().as_str()], &limits[..]].concat(), Revision::V2025_11_25).await;
    // Ten megabytes in one value, at a character of two bytes.
    let wide =
        result(&client, "query", json!({"sql": "SELECT 1, 'a' || repeat('ü', 5000000)"})).await;
    assert_eq!(wide["rows"][0][1], format!("a{}", "ü".repeat(499)));
    assert_eq!(wide["cut_values"], json!([{"row": 0, "column": 1, "bytes": 10_000_001}]));
    // A cut value is text, even where the whole would be JSON.
    let json = "SELECT json_agg(n) FROM generate_series(1, 1000) n";
    let json = result(&client, "query", json!({"sql": json})).await;
    assert!(json["rows"][0][0].as_str().unwrap().starts_with("[1, 2, 3"));
    // The bytes of all rows together: the rest is behind a cursor.
    let mut page = result(
        &client,
        "query",
        json!({"sql": "SELECT n, repeat('x', 900) FROM generate_series(1, 100) n"}),
    )
    .await;
    let mut rows = 0;
    loop {
        assert!(page["rows"].to_string().len() <= 20_000);
        rows += page["row_count"].as_u64().unwrap();
        let Some(cursor) = page.get("next_cursor") else { break };
        page = result(&client, "fetch_rows", json!({"cursor": cursor})).await;
    }
    assert_eq!(rows, 100);
    // As many columns as PostgreSQL has, each with more than its share.
    let columns: Vec<_> = (0..1664).map(|n| format!("repeat('y', 100) AS c{n}")).collect();
    let sql = format!("SELECT {}", columns.join(", "));
    let many = result(&client, "query", json!({"sql": sql})).await;
    assert_eq!(many["rows"][0].as_array().unwrap().len(), 1664);
    assert_eq!(many["cut_values"].as_array().unwrap().len(), 1664);
    let sql = sql.replace("SELECT", "SELECT 1,");
    let refused = refusal(&client, "query", json!({"sql": sql})).await;
    assert!(refused.contains("1664"), "{refused}");
}
