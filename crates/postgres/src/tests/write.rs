//! Writing: only with `--allow-write`, only after a yes, and only what was shown.

use mcp::Revision;
use mcp::client::{Answering, Client};
use serde_json::{Value, json};

use super::{TestDatabase, connect, connect_answering, refusal, result, run, value};

const RENAME: &str = "UPDATE customer SET name = 'Eve' WHERE id < 3";

/// A client whose user gives this answer to every question.
async fn asked(database: &TestDatabase, revision: Revision, answer: Value) -> Client {
    let answering = Answering::new(json!({"elicitation": {}}), move |method, params| {
        assert_eq!(method, "elicitation/create");
        let message = params["message"].as_str().unwrap_or_default();
        assert!(message.contains("Rows affected: ") && message.contains("RowExclusiveLock on "));
        assert!(message.contains("For example in public."), "{message}");
        Ok(answer.clone())
    });
    connect_answering(&[&database.url(), "--allow-write"], revision, answering).await
}

/// A client whose user cannot be asked.
async fn unasked(database: &TestDatabase) -> Client {
    connect(&[&database.url(), "--allow-write"], Revision::V2025_11_25).await
}

async fn renamed(database: &TestDatabase) -> String {
    let sql = "SELECT count(*)::text FROM customer WHERE name = 'Eve'";
    value(&mut database.admin().await, sql).await.unwrap()
}

#[tokio::test]
async fn nothing_offers_to_write_unless_told() {
    let database = TestDatabase::new().await;
    for (arguments, offered) in
        [(vec![database.url()], false), (vec![database.url(), "--allow-write".to_owned()], true)]
    {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let client = connect(&arguments, Revision::V2025_11_25).await;
        let tools = client.list("tools/list", "tools").await.unwrap();
        assert_eq!(tools.iter().any(|tool| tool["name"] == "execute"), offered);
        let change = json!({"statements": [RENAME]});
        assert_eq!(client.call_tool("execute", change).await.is_ok(), offered);
        // What only reads stays so.
        refusal(&client, "query", json!({"sql": RENAME})).await;
    }
    assert_eq!(renamed(&database).await, "0");
}

#[tokio::test]
async fn the_user_decides() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        for (answer, committed) in [
            (json!({"action": "accept", "content": {"write": true}}), true),
            (json!({"action": "accept", "content": {"write": false}}), false),
            (json!({"action": "accept", "content": {}}), false),
            (json!({"action": "decline"}), false),
            (json!({"action": "cancel"}), false),
        ] {
            run(&mut admin, "UPDATE customer SET name = 'Ada'").await;
            let client = asked(&database, revision, answer.clone()).await;
            let done = result(&client, "execute", json!({"statements": [RENAME]})).await;
            assert_eq!(done["committed"], committed, "{revision} {answer}");
            assert_eq!(done["rows_affected"], json!([2]));
            assert_eq!(done["locks"], json!(["RowExclusiveLock on customer"]));
            let now = if committed { "2" } else { "0" };
            assert_eq!(renamed(&database).await, now, "{revision} {answer}");
        }
    }
}

#[tokio::test]
async fn without_a_user_to_ask_it_takes_two_calls() {
    let database = TestDatabase::new().await;
    let client = unasked(&database).await;
    let change = json!({"statements": [RENAME]});
    let shown = result(&client, "execute", change).await;
    assert_eq!((&shown["committed"], renamed(&database).await), (&json!(false), "0".to_owned()));
    let code = &shown["confirm"];
    for (statement, code) in [
        ("UPDATE customer SET name = 'Eve'", code.clone()),
        (RENAME, json!("0123456789abcdef0123456789abcdef")),
        (RENAME, json!("")),
    ] {
        let wrong = json!({"statements": [statement], "confirm": code});
        let text = refusal(&client, "execute", wrong).await;
        assert!(text.contains("`confirm` is not that of this change"), "{text}");
    }
    let right = json!({"statements": [RENAME], "confirm": code});
    assert_eq!(result(&client, "execute", right.clone()).await["committed"], true);
    assert_eq!(renamed(&database).await, "2");
    refusal(&client, "execute", right).await;
}

const ITEMS: &str = "CREATE TABLE log (id bigint PRIMARY KEY, said text);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO log VALUES (OLD.id, 'deleted'); RETURN NULL; END $$;
    CREATE TABLE item (price numeric(40, 20), id bigint PRIMARY KEY, what text);
    CREATE TRIGGER note AFTER DELETE ON item FOR EACH ROW EXECUTE FUNCTION note();
    INSERT INTO item SELECT 1.1, n, 'x' FROM generate_series(9, 1, -1) n;
    UPDATE item SET id = 9007199254740993, what = repeat('y', 1000) WHERE id = 9;
    CREATE TABLE secret (a int); GRANT INSERT, UPDATE ON secret TO shop_app;";

/// Rows of a statement, of a trigger, of a function, and none of a table that nobody can look into.
#[tokio::test]
async fn some_of_the_rows_are_shown_before_and_after() {
    let database = TestDatabase::new().await;
    run(&mut database.admin().await, ITEMS).await;
    let client = unasked(&database).await;
    let item = |id: &str, price: &str| json!({"id": id, "price": price, "what": "x"});
    let long = json!({"id": "9007199254740993", "price": "1.10000000000000000000",
        "what": "y".repeat(200)});
    let (old, new) = ("1.10000000000000000000", "2.00000000000000000000");
    let noted = |id: &str| json!({"id": id, "said": "deleted"});
    for (statements, samples) in [
        (
            json!(["UPDATE item SET price = 2 WHERE id < 5"]),
            json!([{
                "table": "public.item",
                "before": [item("1", old), item("2", old), item("3", old)],
                "after": [item("1", new), item("2", new), item("3", new)],
            }]),
        ),
        (
            json!(["DELETE FROM item WHERE id IN (2, 9007199254740993)"]),
            json!([
                {"table": "public.item", "before": [item("2", old), long], "after": []},
                {"table": "public.log", "before": [], "after": [noted("2"), noted("9007199254740993")]},
            ]),
        ),
        (
            json!(["DO $$ BEGIN INSERT INTO item (id) VALUES (77); END $$"]),
            json!([{
                "table": "public.item",
                "before": [],
                "after": [{"id": "77", "price": null, "what": null}],
            }]),
        ),
        // What nobody else can read meanwhile, and what this leaves as it is.
        (json!(["TRUNCATE item"]), Value::Null),
        (json!(["DELETE FROM item WHERE false"]), Value::Null),
        (json!(["SELECT 1"]), Value::Null),
    ] {
        let shown = result(&client, "execute", json!({"statements": statements})).await;
        assert_eq!(shown["samples"], samples, "{statements}");
    }
    let one = [&database.url(), "--allow-write", "--max-connections", "1"];
    let app = [&database.url_as("shop_app"), "--allow-write"];
    for (arguments, statement) in
        [(&one[..], "DELETE FROM item WHERE id = 1"), (&app[..], "INSERT INTO secret VALUES (1)")]
    {
        let client = connect(arguments, Revision::V2025_11_25).await;
        let shown = result(&client, "execute", json!({"statements": [statement]})).await;
        assert_eq!((&shown["rows_affected"], &shown["samples"]), (&json!([1]), &Value::Null));
    }
}

#[tokio::test]
async fn what_is_written_is_what_was_shown() {
    let database = TestDatabase::new().await;
    let client = unasked(&database).await;
    let shown = result(&client, "execute", json!({"statements": [RENAME]})).await;
    run(&mut database.admin().await, "DELETE FROM customer WHERE id = 2").await;
    let confirm = json!({"statements": [RENAME], "confirm": shown["confirm"]});
    let text = refusal(&client, "execute", confirm).await;
    assert!(text.contains("[1] rows would be affected now, [2] were shown"), "{text}");
    assert_eq!(renamed(&database).await, "0");
}

#[tokio::test]
async fn statements_are_done_together_or_not_at_all() {
    let database = TestDatabase::new().await;
    let yes = json!({"action": "accept", "content": {"write": true}});
    let client = asked(&database, Revision::V2025_11_25, yes).await;
    let statements = json!([
        "CREATE TABLE note (id int PRIMARY KEY, body text)",
        "INSERT INTO note SELECT n, 'x' FROM generate_series(1, 5) n",
        RENAME,
    ]);
    let done = result(&client, "execute", json!({"statements": statements})).await;
    assert_eq!(done["rows_affected"], json!([0, 5, 2]));
    let parameter =
        json!({"statements": ["DELETE FROM note WHERE id = ANY ($1)"], "params": [[1, 2]]});
    assert_eq!(result(&client, "execute", parameter).await["rows_affected"], json!([2]));
    let broken = json!(["DROP TABLE note", "INSERT INTO note VALUES (1, 'y')"]);
    let text = refusal(&client, "execute", json!({"statements": broken})).await;
    assert!(text.contains("relation \"note\" does not exist"), "{text}");
    let mut admin = database.admin().await;
    assert_eq!(value(&mut admin, "SELECT count(*)::text FROM note").await.as_deref(), Some("3"));
}

#[tokio::test]
async fn what_would_get_around_the_question_is_refused() {
    let database = TestDatabase::new().await;
    let commits = "CREATE PROCEDURE commits() LANGUAGE plpgsql AS 'BEGIN COMMIT; END'";
    run(&mut database.admin().await, commits).await;
    let client = unasked(&database).await;
    for (statements, says) in [
        (json!(["UPDATE customer SET name = 'Eve'; COMMIT"]), "multiple commands"),
        (json!([RENAME, "COMMIT"]), "cannot begin with `commit`"),
        (json!(["COMMIT", RENAME]), "cannot begin with `commit`"),
        (json!([RENAME, ";Commit"]), "cannot begin with `commit`"),
        (json!([RENAME, "/* select */ --\nCOMMIT AND CHAIN"]), "cannot begin with `commit`"),
        (json!([RENAME, "END"]), "cannot begin with `end`"),
        (json!([RENAME, "ROLLBACK"]), "cannot begin with `rollback`"),
        (json!([RENAME, "PREPARE TRANSACTION 'x'"]), "cannot begin with `prepare`"),
        (json!([RENAME, "RELEASE a"]), "cannot begin with `release`"),
        (json!([RENAME, "1; COMMIT"]), "cannot begin with `commit`"),
        (json!([RENAME, "(SELECT 1); COMMIT"]), "multiple commands"),
        (json!([RENAME, "CALL commits()"]), "invalid transaction termination"),
        (
            json!(["DO $$ BEGIN UPDATE customer SET name = 'Eve'; COMMIT; END $$"]),
            "invalid transaction termination",
        ),
        (json!(["COPY customer TO '/tmp/x'"]), "cannot begin with `copy`"),
        (json!(["/* c */ copy customer FROM PROGRAM 'id'"]), "cannot begin with `copy`"),
        (json!(["SELECT pg_read_file('x')"]), "`pg_read_file` is not available"),
        (json!(["SELECT dblink_exec('', '')"]), "`dblink_exec` is not available"),
        (json!([]), "statements"),
        (json!([""]), "`sql` is empty"),
    ] {
        let text = refusal(&client, "execute", json!({"statements": statements})).await;
        assert!(text.contains(says), "{statements}: {text}");
        assert_eq!(renamed(&database).await, "0", "{statements}");
    }
    let mut admin = database.admin().await;
    let prepared = "SELECT count(*)::text FROM pg_prepared_xacts";
    assert_eq!(value(&mut admin, prepared).await.as_deref(), Some("0"));
}

#[tokio::test]
async fn files_are_loaded_from_one_folder_and_proved() {
    let database = TestDatabase::new().await;
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    write("in/a;b'c.csv", "x;y\n1;\"a;\nb\"\n2;\n");
    write("outside.csv", "1,secret\n");
    std::os::unix::fs::symlink(
        folder.path().join("outside.csv"),
        folder.path().join("in/link.csv"),
    )
    .unwrap();
    let load_dir = folder.path().join("in").display().to_string();
    let url = database.url();
    let arguments = [&url, "--allow-write", "--load-dir", &load_dir];
    let client = connect(&arguments, Revision::V2025_11_25).await;
    let create = "CREATE TABLE t (x int, y text)";
    let copy = "\\copy t FROM 'a;b''c.csv' WITH (FORMAT csv, DELIMITER ';', HEADER true)";
    let proof = |expected: Value| json!({"sql": "SELECT count(*), sum(x) * 1.50, max(y), NULL FROM t", "expected": expected});
    for expected in [json!([2, 4.5, "a;\nb", null]), json!(["2", "4.500", "a;\nb", null])] {
        let change = json!({"statements": [create, copy], "verify": proof(expected)});
        let shown = result(&client, "execute", change).await;
        assert_eq!(shown["rows_affected"], json!([0, 2]));
        assert!(shown["confirm"].is_string());
    }
    for expected in [json!([2, 4.4, "a;\nb", null]), json!([2]), json!([2, 4.5, "a;\nb", "x"])] {
        let change = json!({"statements": [create, copy], "verify": proof(expected)});
        let text = refusal(&client, "execute", change).await;
        assert!(text.contains("Nothing was written: `verify` gave [\"2\",\"4.50\""), "{text}");
    }
    let outside = folder.path().join("outside.csv").display().to_string();
    for (statement, says) in refused_copies(&outside) {
        let change = json!({"statements": [create, statement]});
        let text = refusal(&client, "execute", change).await;
        assert!(text.contains(says) && !text.contains("secret"), "{statement}: {text}");
    }
    let without = unasked(&database).await;
    let text = refusal(&without, "execute", json!({"statements": [create, copy]})).await;
    assert!(text.contains("--load-dir"), "{text}");
    let tables = "SELECT count(*)::text FROM pg_class WHERE relname = 't'";
    assert_eq!(value(&mut database.admin().await, tables).await.as_deref(), Some("0"));
}

/// What `\\copy` is not for, and a word of the refusal.
fn refused_copies(outside: &str) -> Vec<(String, &'static str)> {
    let from = |file: &str| {
        format!("\\copy t FROM '{file}' WITH (FORMAT csv, DELIMITER ',', HEADER false)")
    };
    vec![
        (from("../outside.csv"), "There is no file"),
        (from(outside), "There is no file"),
        (from("link.csv"), "There is no file"),
        (from("none.csv"), "There is no file"),
        (from("."), "There is no file"),
        (from("a;b''c.csv"), "invalid input syntax"),
        ("\\copy t FROM PROGRAM 'id' WITH (FORMAT csv)".to_owned(), "Write it as"),
        ("\\copy t TO 'x' WITH (FORMAT csv, DELIMITER ',', HEADER true)".to_owned(), "Write it as"),
        (
            "\\copy t; DROP TABLE customer FROM 'x' WITH (FORMAT csv, DELIMITER ',', HEADER true)"
                .to_owned(),
            "Write it as",
        ),
        (format!("{}; DROP TABLE customer", from("x")), "Write it as"),
        ("COPY t FROM 'link.csv'".to_owned(), "cannot begin with `copy`"),
    ]
}
