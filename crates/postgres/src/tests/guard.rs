//! What a query may cost, before it runs.

use mcp::Revision;
use mcp::client::Answering;
use serde_json::json;

use super::{TestDatabase, connect, connect_answering, refusal, result, run};

/// 20,000 rows of about 120 bytes, 10 of each `m`.
const BIG: &str = "CREATE TABLE big AS SELECT n, n % 2000 AS m, repeat('x', 80) AS pad
    FROM generate_series(1, 20000) n; CREATE INDEX big_n ON big (n); ANALYZE big";

async fn scene() -> TestDatabase {
    let database = TestDatabase::new().await;
    run(&mut database.admin().await, BIG).await;
    database
}

#[tokio::test]
async fn what_costs_too_much_is_refused_with_the_step_and_a_cheaper_way() {
    let database = scene().await;
    let url = database.url();
    let client = connect(
        &[&url, "--max-cost", "2000", "--max-step-bytes", "4000000", "--max-scan-bytes", "1000000"],
        Revision::V2025_11_25,
    )
    .await;
    for (sql, says) in [
        (
            "SELECT * FROM big WHERE m = 7",
            &[
                "MB of public.big",
                "`Seq Scan on big`",
                "indexed column (n)",
                "TABLESAMPLE SYSTEM (",
            ][..],
        ),
        ("SELECT count(*) FROM big", &["MB of public.big", "--max-scan-bytes"]),
        (
            "SELECT count(*) FROM big a, big b",
            &[
                "one step of it would handle",
                "--max-step-bytes",
                "the condition that joins a and b",
            ],
        ),
        (
            "SELECT n FROM generate_series(1, 300000) n ORDER BY n DESC",
            &["cost", "--max-cost", "leave ORDER BY out"],
        ),
        ("SELECT max(n) FROM generate_series(1, 1000000) n", &["--max-cost", "LIMIT"]),
        ("SELECT n FROM generate_series(1, 1000000000) n LIMIT 3", &["--max-step-bytes"]),
    ] {
        let text = refusal(&client, "query", json!({"sql": sql})).await;
        assert!(text.starts_with("Not run: "), "{sql}: {text}");
        for part in says {
            assert!(text.contains(part), "{sql}: {part} in {text}");
        }
    }
    // What is suggested runs.
    let text = refusal(&client, "query", json!({"sql": "SELECT count(*) FROM big"})).await;
    let sample = text.split_once("sample: ").unwrap().1.split_once(')').unwrap().0;
    let sample =
        format!("SELECT count(*) FROM big WHERE n < 100 UNION ALL SELECT count(*) {sample})");
    assert_eq!(result(&client, "query", json!({"sql": sample})).await["rows"][0], json!([99]));
}

/// A cursor reads only what is wanted of them.
#[tokio::test]
async fn the_beginning_of_a_large_result_is_cheap() {
    let database = scene().await;
    let url = database.url();
    let limits =
        [&url, "--max-cost", "100", "--max-step-bytes", "100000", "--max-scan-bytes", "200000"];
    let client = connect(&limits, Revision::V2025_11_25).await;
    for sql in [
        "SELECT * FROM big",
        "SELECT * FROM big a, big b",
        "SELECT * FROM big WHERE n = 5",
        "SELECT * FROM big ORDER BY n DESC",
        "SELECT * FROM (SELECT * FROM big LIMIT 10) b ORDER BY m",
        "SELECT * FROM big WHERE n = $1",
    ] {
        let params = if sql.contains("$1") { json!([5]) } else { json!([]) };
        let arguments = json!({"sql": sql, "params": params, "max_rows": 5});
        result(&client, "query", arguments).await;
    }
    // All of it is not.
    let all = json!({"sql": "SELECT * FROM big", "max_rows": 100_000});
    assert!(refusal(&client, "query", all).await.contains("--max-step-bytes"));
    let analyze = json!({"sql": "SELECT * FROM big", "analyze": true});
    assert!(refusal(&client, "explain_query", analyze).await.contains("Not run"));
    let plan = json!({"sql": "SELECT * FROM big"});
    result(&client, "explain_query", plan).await;
}

#[tokio::test]
async fn the_user_can_say_yes_or_no() {
    let database = scene().await;
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        for (answer, runs) in [
            (json!({"action": "accept", "content": {"run": true}}), true),
            (json!({"action": "accept", "content": {"run": false}}), false),
            (json!({"action": "decline"}), false),
        ] {
            let given = answer.clone();
            let answering = Answering::new(json!({"elicitation": {}}), move |_, params| {
                let message = params["message"].as_str().unwrap_or_default();
                assert!(message.contains("Seq Scan on big") && message.contains("Cheaper: "));
                Ok(given.clone())
            });
            let url = database.url();
            let client =
                connect_answering(&[&url, "--max-scan-bytes", "100000"], revision, answering).await;
            let arguments = json!({"sql": "SELECT count(*) FROM big"});
            if runs {
                let found = result(&client, "query", arguments).await;
                assert_eq!(found["rows"], json!([[20000]]), "{revision}");
            } else {
                let text = refusal(&client, "query", arguments).await;
                assert!(text.contains("the user does not want it"), "{revision}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn the_guard_can_be_turned_off_and_lets_ordinary_queries_be() {
    let database = scene().await;
    let url = database.url();
    let off = [&url, "--max-cost", "0", "--max-step-bytes", "0", "--max-scan-bytes", "0"];
    for arguments in [&off[..], &off[..1]] {
        let client = connect(arguments, Revision::V2025_11_25).await;
        let sql = "SELECT count(*) FROM big a JOIN big b USING (m)";
        let found = result(&client, "query", json!({"sql": sql})).await;
        assert_eq!(found["rows"], json!([[200_000]]));
    }
    let client = connect(&off[..1], Revision::V2025_11_25).await;
    let endless = "SELECT count(*) FROM big a, big b, big c";
    refusal(&client, "query", json!({"sql": endless})).await;
}
