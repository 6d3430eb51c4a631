//! Arguments and what is said of them. Tools that check their arguments through the protocol are
//! tested in `shared/tests`.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use super::Arguments;

fn problem(schema: &Value, value: &Value) -> String {
    let checked = Arguments::new(schema.clone()).check(&value.to_string());
    checked.map(|_| String::new()).unwrap_or_else(|problem| problem.message().to_owned())
}

#[test]
fn a_whole_number_is_one_however_it_is_written() {
    #[derive(Deserialize, PartialEq, Debug)]
    struct Input {
        count: u32,
        ratio: f64,
        words: Vec<i64>,
    }
    let schema = json!({"type": "object", "properties": {
        "count": {"type": "integer", "minimum": 0},
        "ratio": {"type": "number"},
        "words": {"type": "array", "items": {"type": "integer"}},
    }});
    let arguments = Arguments::new(schema);
    let read = |text: &str| arguments.read::<Input>(text).map_err(|error| error.to_string());
    let right = Input { count: 3, ratio: 2.0, words: vec![-1, 1_000] };
    for text in [
        r#"{"count": 3, "ratio": 2, "words": [-1, 1000]}"#,
        r#"{"count": 3.0, "ratio": 2.0, "words": [-1.0, 1e3]}"#,
    ] {
        assert_eq!(read(text).as_ref(), Ok(&right), "{text}");
    }
    for (text, says) in [
        (r#"{"count": 3.5, "ratio": 2, "words": []}"#, "`count` must be a whole number, not 3.5"),
        (r#"{"count": -3.0, "ratio": 2, "words": []}"#, "`count` must be at least 0, not -3"),
        (r#"{"count": 1e10, "ratio": 2, "words": []}"#, "10000000000"),
        (r#"{"count": 3, "ratio": 2, "words": [1e300]}"#, "Invalid arguments"),
        (r#"{"count": 3, "count": 4, "ratio": 2, "words": []}"#, "duplicate field `count`"),
    ] {
        let problem = read(text).expect_err(text);
        assert!(problem.contains(says), "{problem}");
    }
}

#[test]
fn bounds_hold_to_the_last_digit() {
    let schema = |keyword: &str, bound: Value| json!({"type": "integer", keyword: bound});
    let large = 9_007_199_254_740_993_u64;
    for (keyword, bound, right, wrong, says) in [
        ("maximum", large - 1, large - 1, large, "at most 9007199254740992, not 9007199254740993"),
        ("minimum", large, large, large - 1, "at least 9007199254740993, not 9007199254740992"),
        ("exclusiveMinimum", large, large + 1, large, "greater than 9007199254740993"),
        ("exclusiveMaximum", large, large - 1, large, "less than 9007199254740993"),
        ("maximum", u64::MAX - 1, u64::MAX - 1, u64::MAX, "not 18446744073709551615"),
    ] {
        let schema = schema(keyword, json!(bound));
        assert_eq!(problem(&schema, &json!(right)), "", "{keyword}");
        let problem = problem(&schema, &json!(wrong));
        assert!(problem.contains(says), "{problem}");
    }
    let both = json!({"exclusiveMinimum": 1, "exclusiveMaximum": 0.5});
    assert_eq!(
        problem(&both, &json!(0.75)),
        "Invalid arguments: the arguments must be greater than 1, not 0.75; \
         the arguments must be less than 0.5, not 0.75."
    );
}

#[test]
fn places_and_names_are_told_and_long_ones_are_cut() {
    let schema = json!({"type": "object", "additionalProperties": false, "properties": {
        "points": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}},
        "tree": {"$ref": "#/$defs/tree"},
    }, "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}});
    let long = "é".repeat(1_000);
    let mut deep = json!(0);
    for _ in 0..30 {
        deep = json!([deep]);
    }
    for (value, says) in [
        (
            json!({"points": [{"x": 1}, {"x": "2"}]}),
            "`points[1].x` must be a number, not \"2\"".to_owned(),
        ),
        (json!({"pionts": []}), "`pionts` is not known; did you mean `points`".to_owned()),
        (
            json!({"zzzzzz": []}),
            "`zzzzzz` is not known; the arguments are `points`, `tree`".to_owned(),
        ),
        (json!({&long: 1}), format!("`{}…` is not known; the arguments are", "é".repeat(60))),
        (json!({"points": long}), format!("must be a list, not \"{}…\"", "é".repeat(60))),
        (json!({"tree": deep}), format!("`…{}` must be a list, not 0", "[0]".repeat(12))),
        (json!(5), "the arguments must be an object, not 5".to_owned()),
    ] {
        let problem = problem(&schema, &value);
        assert!(problem.contains(&says), "{problem}");
    }
}

/// What a peer sends decides how long it takes, so it must not take more than a little for each
/// byte. Each of these took minutes or gigabytes.
#[test]
fn large_arguments_are_checked_in_time() {
    let strict =
        json!({"type": "object", "additionalProperties": false, "properties": {"known": {}}});
    let unique = json!({"uniqueItems": true, "minItems": 1});
    let unknown: Value = (0..300_000).map(|n| (format!("name{n}"), json!(1))).collect();
    let names = |count: usize| (0..count).map(|n| json!(format!("item {n}"))).collect::<Vec<_>>();
    let twice = [names(100_000), names(1)].concat();
    let long_name = json!({"known".repeat(1_000_000): 1});
    let wide = json!({"a".repeat(4_000_000): vec![1; 200_000]});
    let lists = json!({"additionalProperties": {"type": "array", "items": {"minimum": 0}}});
    let started = Instant::now();
    for (schema, value, says) in [
        (&strict, unknown, "is not known"),
        (&strict, long_name, "is not known"),
        (&unique, json!(names(100_000)), ""),
        (&unique, json!(twice), "the same item twice"),
        (&lists, wide, ""),
    ] {
        let problem = problem(schema, &value);
        assert!(problem.contains(says) && problem.len() < 1_000, "{}", problem.len());
        assert_eq!(problem.is_empty(), says.is_empty(), "{problem}");
    }
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

#[test]
fn an_item_twice_is_seen_whatever_its_shape() {
    let unique = json!({"uniqueItems": true});
    for (items, is_unique) in [
        (json!([1, 2, "1", null, false, [], {}]), true),
        (json!([{"a": 1, "b": 2}, {"b": 2, "a": 1}]), false),
        (json!([[1, 2], [2, 1]]), true),
        (json!([1, 1]), false),
    ] {
        assert_eq!(problem(&unique, &items).is_empty(), is_unique, "{items}");
    }
}

/// The keywords are divided between three lists, and none is on two of them.
#[test]
fn each_keyword_is_on_one_list() {
    let all = || super::OF_TYPES.iter().chain(&super::BEYOND_TYPES).chain(&super::TELLING);
    assert_eq!(all().collect::<BTreeSet<_>>().len(), all().count());
}
