//! Every type keeps every digit: the rules of `cell.rs` as a table, and every type PostgreSQL has.

use std::io::Write;
use std::process::{Command, Stdio};

use mcp::client::Client;
use serde_json::{Value, json};
use sqlx::Row;

use super::{TestDatabase, cluster, result, run};

/// An expression, and the JSON of its value as it goes over the wire.
const RULES: &[(&str, &str)] = &[
    ("true", "true"),
    ("'t'::text", r#""t""#),
    ("''::text", r#""""#),
    ("NULL::text", "null"),
    ("E'a\"\\\\\\n\\t\\x01é\\U0001F600'::text", r#""a\"\\\n\t\u0001é😀""#),
    ("'-32768'::int2", "-32768"),
    ("2147483647", "2147483647"),
    ("4294967295::oid", "4294967295"),
    ("9007199254740991", "9007199254740991"),
    ("9007199254740992", r#""9007199254740992""#),
    ("-9007199254740991", "-9007199254740991"),
    ("'-9223372036854775808'::int8", r#""-9223372036854775808""#),
    ("1.10", r#""1.10""#),
    (
        "1234567890123456789012345678901234567890.5",
        r#""1234567890123456789012345678901234567890.5""#,
    ),
    ("'NaN'::numeric", r#""NaN""#),
    ("0.1::float8", "0.1"),
    ("0.30000000000000004::float8", "0.30000000000000004"),
    ("'-0'::float8", "-0"),
    ("1e300::float8", "1e+300"),
    ("3.4028235e38::float4", "3.4028235e+38"),
    ("'NaN'::float8", r#""NaN""#),
    ("'-Infinity'::float4", r#""-Infinity""#),
    ("12.3::money", r#""$12.30""#),
    (r"'\xdeadbeef'::bytea", r#""\\xdeadbeef""#),
    ("'2026-01-02 03:04:05.123456'::timestamp", r#""2026-01-02 03:04:05.123456""#),
    ("'2026-01-02 03:04:05.1+02'::timestamptz", r#""2026-01-02 01:04:05.1+00""#),
    ("'infinity'::timestamptz", r#""infinity""#),
    ("'0044-03-15 BC'::date", r#""0044-03-15 BC""#),
    ("'24:00'::time", r#""24:00:00""#),
    ("'1 mon -3 days 04:05:06.789'::interval", r#""P1M-3DT4H5M6.789S""#),
    ("'[1,5)'::int4range", r#""[1,5)""#),
    ("'{[1,3),[5,7)}'::int4multirange", r#""{[1,3),[5,7)}""#),
    ("ARRAY[1,NULL,3]", "[1,null,3]"),
    ("ARRAY[[1,2],[3,4]]", "[[1,2],[3,4]]"),
    ("'{}'::int[]", "[]"),
    (
        "'[0:1][2:3]={{1,2},{3,NULL}}'::int[]",
        r#"{"bounds":"[0:1][2:3]","values":[[1,2],[3,null]]}"#,
    ),
    (
        "ARRAY['a,b','\"q\"','NULL',NULL,'','{x}','a\\b']",
        r#"["a,b","\"q\"","NULL",null,"","{x}","a\\b"]"#,
    ),
    ("ARRAY[9007199254740993]", r#"["9007199254740993"]"#),
    ("ARRAY['(1,2),(3,4)'::box]", r#"["(3,4),(1,2)"]"#),
    ("ARRAY['{\"a\": [1]}'::jsonb]", r#"[{"a":[1]}]"#),
    ("'1 2'::int2vector", r#""1 2""#),
    ("ROW(1,'b \"x\", y',ARRAY[1.5])::pair", r#"{"a":1,"b c":"b \"x\", y","d":["1.5"]}"#),
    ("ROW(NULL,'',NULL)::pair", r#"{"a":null,"b c":"","d":null}"#),
    (
        "ROW(ROW(1,'x',NULL)::pair,'{\"k\":null}')::outer_pair",
        r#"{"p":{"a":1,"b c":"x","d":null},"j":{"k":null}}"#,
    ),
    ("ARRAY[ROW(1,'x',NULL)::pair]", r#"[{"a":1,"b c":"x","d":null}]"#),
    ("ROW(5,'{1,2}')::with_domain", r#"{"p":5,"l":[1,2]}"#),
    ("5::positive", "5"),
    ("'{1,2}'::list", "[1,2]"),
    ("ROW(1,NULL,'a b')", r#"["1",null,"a b"]"#),
    (
        "'{\"b\": 1, \"a\": 12345678901234567890.10, \"b\": [ 1 , 2 ]}'::json",
        r#"{"b":1,"a":12345678901234567890.10,"b":[1,2]}"#,
    ),
    ("E'{\"a\":\\n \" x \\\\\" y \"}'::json", r#"{"a":" x \" y "}"#),
    (r#"'"\ud83d\ude00"'::json"#, r#""\ud83d\ude00""#),
    (r#"'"\ud83d"'::json"#, r#""\"\\ud83d\"""#),
    ("'null'::jsonb", "null"),
    ("'a=>1, b=>NULL'::hstore", r#""\"a\"=>\"1\", \"b\"=>NULL""#),
    ("'2001:db8::/32'::inet", r#""2001:db8::/32""#),
    ("'08:00:2b:01:02:03'::macaddr", r#""08:00:2b:01:02:03""#),
    ("B'101'", r#""101""#),
    ("'a b'::tsvector", r#""'a' 'b'""#),
    ("'(1,2)'::point", r#""(1,2)""#),
    ("'pg_class'::regclass", r#""pg_class""#),
    ("'16/B374D848'::pg_lsn", r#""16/B374D848""#),
    ("'a'::\"char\"", r#""a""#),
    ("'ab'::char(4)", r#""ab  ""#),
    ("pg_sleep(0)", r#""""#),
    (
        "(SELECT relacl FROM pg_class WHERE relname = 'pg_class')",
        r#"["postgres=arwdDxt/postgres","=r/postgres"]"#,
    ),
];

#[tokio::test]
async fn values_follow_the_rules() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    run(
        &mut admin,
        "CREATE TYPE pair AS (a int, \"b c\" text, d numeric[]);
        CREATE TYPE outer_pair AS (p pair, j jsonb);
        CREATE DOMAIN positive AS int CHECK (VALUE > 0);
        CREATE DOMAIN list AS int[];
        CREATE TYPE with_domain AS (p positive, l list);
        CREATE EXTENSION hstore;",
    )
    .await;
    let client = database.connect().await;
    for (sql, right) in RULES {
        let answer =
            super::call(&client, "query", json!({"sql": format!("SELECT {sql} AS v")})).await;
        assert!(!answer.is_error, "{sql}: {}", answer.text());
        let text = answer.text();
        let rows =
            text.split_once("\"rows\":[[").unwrap().1.split_once("]],\"row_count\"").unwrap().0;
        // An aclitem differs between versions.
        if !sql.contains("relacl") || rows.len() == right.len() {
            assert_eq!(rows, *right, "{sql}");
        }
    }
    let nulls = "SELECT 'null'::json, NULL::json, 1 UNION ALL SELECT NULL, 'null', 2";
    let nulls = result(&client, "query", json!({"sql": nulls})).await;
    assert_eq!(nulls["json_nulls"], json!([[0, 0], [1, 1]]));
}

#[tokio::test]
async fn deep_json_is_given_as_text() {
    let database = TestDatabase::new().await;
    let client = database.connect().await;
    for (depth, is_text) in [(48, false), (49, true), (5000, true)] {
        let sql = format!("SELECT (repeat('[', {depth}) || repeat(']', {depth}))::json");
        let found = result(&client, "query", json!({"sql": sql})).await;
        assert_eq!(found["rows"][0][0].is_string(), is_text, "{depth}");
    }
}

/// What a value of a type may be written as, by the type's category or its name.
fn literal(name: &str, category: &str) -> Option<&'static str> {
    Some(match name {
        "name" | "text" | "character varying" | "character" | "\"char\"" | "bpchar" => "a",
        "bytea" => r"\x00ff",
        "uuid" => "033660ce-0000-4000-8000-000000000001",
        "json" | "jsonb" => r#"{"a": [1, 2.5, null]}"#,
        "jsonpath" => "$.a[*]",
        "xml" => "<a>b</a>",
        "pg_lsn" => "1/2",
        "tid" => "(1,2)",
        "xid" | "cid" | "xid8" | "oid" => "7",
        "int2vector" | "oidvector" => "1 2 3",
        "regclass" => "pg_class",
        "regtype" => "integer",
        "regproc" => "now",
        "regprocedure" => "now()",
        "regoperator" => "+(integer,integer)",
        "regrole" => "postgres",
        "regnamespace" => "public",
        "regcollation" => "\"C\"",
        "regconfig" => "english",
        "regdictionary" => "simple",
        "tsquery" => "'a' & 'b'",
        "tsvector" => "'a':1",
        "txid_snapshot" | "pg_snapshot" => "10:20:10,14",
        "aclitem" => "postgres=r/postgres",
        "refcursor" => "c",
        "macaddr8" => "08:00:2b:01:02:03:04:05",
        "macaddr" => "08:00:2b:01:02:03",
        "money" => "12.30",
        "point" => "(1,2)",
        "line" => "{1,2,3}",
        "lseg" | "box" => "(3,4),(1,2)",
        "path" => "((1,2),(3,4))",
        "polygon" => "((1,2),(3,4))",
        "circle" => "<(1,2),3>",
        "bit" => "1",
        "bit varying" => "101",
        "date" => "infinity",
        "interval" => "1 year 2 mons -3 days 04:05:06.789",
        "time without time zone" => "24:00:00",
        "time with time zone" => "01:02:03.5+04",
        "daterange" => "[2026-01-01,)",
        "datemultirange" => "{[2026-01-01,2026-01-03)}",
        "tsrange" | "tstzrange" => "[2026-01-01 00:00,2026-01-02 00:00)",
        "tsmultirange" | "tstzmultirange" => "{[2026-01-01 00:00,2026-01-02 00:00)}",
        "information_schema.yes_or_no" => "YES",
        "information_schema.character_data" | "information_schema.sql_identifier" => "a",
        _ => match category {
            "B" => "t",
            "N" => "1",
            "D" => "0044-03-15 01:02:03.456789 BC",
            "I" => "10.0.0.0/8",
            "R" if name.ends_with("multirange") => "{[1,3),[5,)}",
            "R" => "[1,3)",
            "E" => "open",
            _ => return None,
        },
    })
}

/// What psql prints of each expression, in one run; what cannot be printed is an error.
fn psql(database: &TestDatabase, expressions: &[String]) -> Vec<String> {
    let mut input =
        "SET TimeZone = 'UTC'; SET IntervalStyle = iso_8601; SET lc_monetary = 'C';\n".to_owned();
    for expression in expressions {
        input += &format!("SELECT {expression};\n");
    }
    let mut command = Command::new("psql");
    command.args(["-X", "-qtA", "-v", "ON_ERROR_STOP=1", "-d", &database.url()]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("install psql");
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<String> = printed.lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), expressions.len());
    lines
}

/// An element that needs no quotes in an array, and one that does, are both there.
fn as_array(name: &str, literal: &str) -> String {
    let element = if name == "text" { "a \"b\", NULL" } else { literal };
    format!("ARRAY['{}'::{name}, NULL]", element.replace('\'', "''"))
}

/// What psql prints, from the JSON of a value: booleans are letters, arrays have braces.
fn printed(value: &Value, name: &str) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "t".to_owned(),
        Value::Array(_) if !name.starts_with("json") => String::new(),
        other => other.to_string(),
    }
}

#[tokio::test]
async fn every_type_of_postgresql_is_shown_as_psql_prints_it() {
    let database = TestDatabase::new().await;
    let mut admin = database.admin().await;
    let client = database.connect().await;
    let types = sqlx::query(
        "SELECT format_type(oid, NULL), typcategory::text, oid::int8 FROM pg_type
        WHERE typtype NOT IN ('p', 'c') AND typname <> 'gtsvector' AND typisdefined
            AND (typcategory <> 'A' OR typname IN ('int2vector', 'oidvector')) AND typname !~ '^pg_(node|ndistinct|dependencies|mcv|brin)'
        ORDER BY oid",
    );
    let types = types.fetch_all(&mut admin).await.unwrap();
    let types: Vec<(String, String, i64)> =
        types.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    let without: Vec<_> =
        types.iter().filter(|(name, category, _)| literal(name, category).is_none()).collect();
    assert!(without.is_empty(), "no literal for {without:?}");
    assert!(types.len() > 70, "{} types on port {}", types.len(), cluster().port());
    let literals: Vec<&str> =
        types.iter().map(|(name, category, _)| literal(name, category).unwrap()).collect();
    let scalars: Vec<String> = types
        .iter()
        .zip(&literals)
        .map(|((name, ..), literal)| format!("'{}'::{name}", literal.replace('\'', "''")))
        .collect();
    let arrays: Vec<String> =
        types.iter().zip(&literals).map(|((name, ..), literal)| as_array(name, literal)).collect();
    let (golden, golden_arrays) = (psql(&database, &scalars), psql(&database, &arrays));
    for (index, (name, _, oid)) in types.iter().enumerate() {
        let (expression, array) = (&scalars[index], &arrays[index]);
        // Every type at all, without a value, and then with one, alone and in an array.
        let sql = format!("SELECT NULL::{name}, {expression}, {array}, ({array})::text");
        let found = result(&client, "query", json!({"sql": sql})).await;
        let row = &found["rows"][0];
        assert_eq!(row[0], Value::Null, "{name}");
        // What PostgreSQL prints of jsonb has spaces, which JSON need not.
        let plain = |text: &str| {
            if name.starts_with("json") { text.replace(' ', "") } else { text.to_owned() }
        };
        assert_eq!(plain(&printed(&row[1], name)), plain(&golden[index]), "{name}");
        assert_eq!(
            row[2],
            json!([if name == "text" { json!("a \"b\", NULL") } else { row[1].clone() }, null]),
            "{name}[]"
        );
        assert_eq!(row[3].as_str(), Some(golden_arrays[index].as_str()), "{name}[]");
        // A domain over a type is told as its base.
        let told = &found["columns"][1]["oid"];
        assert!(*told == json!(oid) || name.starts_with("information_schema."), "{name}: {told}");
        there_and_back(&client, name, &literals[index].replace('\'', "''"), &row[1]).await;
    }
}

/// What was shown, given back as a parameter, is the same value.
async fn there_and_back(client: &Client, name: &str, literal: &str, shown: &Value) {
    // sqlx knows nothing of these; its error says how to write them.
    let through = if name.ends_with("multirange") || name == "aclitem" { "::text" } else { "" };
    // The text of `json` has the spaces it came with.
    let end = if name == "json" { "::jsonb" } else { "" };
    let sql = format!("SELECT ('{literal}'::{name}){end}::text = ($1{through}::{name}){end}::text");
    let same = result(client, "query", json!({"sql": sql, "params": [shown]})).await;
    assert_eq!(same["rows"], json!([[true]]), "{name}");
}
