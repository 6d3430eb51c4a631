//! Charts: the numbers in them, the pictures of them, and what cannot be drawn.

use mcp::Revision;
use mcp::client::{Answering, Client};
use serde_json::{Value, json};

use super::check;
use crate::config::Config;
use crate::server;

async fn client(text: &str) -> (tempfile::TempDir, Client) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file.csv"), text).unwrap();
    let server = server(Config { dirs: vec![dir.path().to_owned()] }).unwrap();
    let client =
        Client::in_memory(server, Revision::V2025_11_25, Answering::nothing()).await.unwrap();
    (dir, client)
}

const SALES: &str = "day,shop,price,qty\n\
    2024-01-02,<north>,1.5,1\n2024-01-01,south,2.25,2\n2024-01-02,<north>,NA,3\n\
    2024-02-01,<north>,10,4\n,south,0.25,5\n";

/// A chart's numbers, its picture as pixels, and as SVG by its link.
async fn draw(client: &Client, mut arguments: Value) -> (Value, Vec<u8>, String) {
    arguments["filepath"] = json!("file.csv");
    let call = json!({"name": "chart_csv", "arguments": arguments});
    let answer = client.request("tools/call", call).await.unwrap();
    assert_ne!(answer["isError"], true, "{answer}");
    let content = answer["content"].as_array().unwrap();
    assert_eq!(
        (&content[0]["type"], &content[0]["mimeType"]),
        (&json!("image"), &json!("image/png"))
    );
    let png = base64(content[0]["data"].as_str().unwrap());
    assert_eq!(content[1]["type"], "resource_link");
    let read = json!({"uri": content[1]["uri"]});
    let svg = client.request("resources/read", read).await.unwrap();
    assert_eq!(svg["contents"][0]["mimeType"], "image/svg+xml");
    let svg = svg["contents"][0]["text"].as_str().unwrap().to_owned();
    (answer["structuredContent"].clone(), png, svg)
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.trim_end_matches('=').bytes().map(digit).collect();
    let bits = |group: &[u8]| group.iter().fold(0u32, |bits, digit| bits << 6 | u32::from(*digit));
    digits
        .chunks(4)
        .flat_map(|group| {
            let bits = bits(group) << (6 * (4 - group.len()));
            bits.to_be_bytes()[1..group.len()].to_vec()
        })
        .collect()
}

/// How many pixels are neither white nor grey.
fn coloured(png: &[u8]) -> usize {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (800, 480));
    pixels.chunks(3).filter(|pixel| pixel[2] > pixel[0].saturating_add(20)).count()
}

#[tokio::test]
async fn each_kind_has_its_numbers_and_its_picture() {
    let (_dir, client) = client(SALES).await;
    for (arguments, columns, points) in [
        (
            json!({"kind": "histogram", "x": "qty"}),
            json!(["from", "to", "count"]),
            json!([[1, 1.2, 1], [1.8, 2, 0], [2, 2.2, 1]]),
        ),
        (
            json!({"kind": "bar", "x": "shop"}),
            json!(["shop", "rows"]),
            json!([["<north>", 3], ["south", 2]]),
        ),
        (
            json!({"kind": "bar", "x": "shop", "y": "price"}),
            json!(["shop", "sum(price)"]),
            json!([["<north>", 11.5], ["south", 2.5]]),
        ),
        (
            json!({"kind": "line", "x": "day", "y": "price", "operation": "max"}),
            json!(["day", "max(price)"]),
            json!([["2024-01-01", 2.25], ["2024-01-02", 1.5], ["2024-02-01", 10]]),
        ),
        (
            json!({"kind": "line", "x": "day"}),
            json!(["day", "rows"]),
            json!([["2024-01-01", 1], ["2024-01-02", 2], ["2024-02-01", 1]]),
        ),
        (
            json!({"kind": "scatter", "x": "price", "y": "qty"}),
            json!(["price", "qty"]),
            json!([[1.5, 1], [2.25, 2], [10, 4], [0.25, 5]]),
        ),
        (
            json!({"kind": "box", "y": "price", "x": "shop"}),
            json!(["group", "min", "p25", "median", "p75", "max"]),
            json!([["<north>", 1.5, 1.5, 1.5, 10, 10], ["south", 0.25, 0.25, 0.25, 2.25, 2.25]]),
        ),
        (
            json!({"kind": "box", "y": "qty"}),
            json!(["group", "min", "p25", "median", "p75", "max"]),
            json!([["qty", 1, 2, 3, 4, 5]]),
        ),
    ] {
        let (chart, png, svg) = draw(&client, arguments.clone()).await;
        assert_eq!(chart["columns"], columns, "{arguments}");
        let drawn = chart["points"].as_array().unwrap();
        for point in points.as_array().unwrap() {
            assert!(drawn.contains(point), "{arguments}: {point} in {drawn:?}");
        }
        if arguments["kind"] != "histogram" {
            assert_eq!(chart["points"], points, "{arguments}");
        }
        assert!(coloured(&png) > 100, "{arguments}: {} pixels", coloured(&png));
        assert!(svg.starts_with("<svg") && !svg.contains("<north>"), "{arguments}: {svg}");
    }
}

#[tokio::test]
async fn histograms_count_each_number_once() {
    let rows: String = (0..1000).map(|row| format!("{}.{}\n", row % 100, row % 10)).collect();
    let (_dir, client) = client(&format!("a\n{rows}x\n")).await;
    let call = json!({"filepath": "file.csv", "kind": "histogram", "x": "a"});
    let refused = client.call_tool("chart_csv", call).await.unwrap();
    assert!(refused.is_error && refused.text().contains("holds no numbers"), "{}", refused.text());
    let (_dir, client) = self::client(&format!("a\n{rows}")).await;
    let (chart, ..) = draw(&client, json!({"kind": "histogram", "x": "a"})).await;
    let bins = chart["points"].as_array().unwrap();
    assert_eq!(bins.iter().map(|bin| bin[2].as_u64().unwrap()).sum::<u64>(), 1000);
    assert_eq!(bins[0], json!([0, 5, 50]));
    assert!(bins.len() <= 21, "{}", bins.len());
}

#[tokio::test]
async fn what_is_not_shown_is_said() {
    let rows: String = (0..3000)
        .map(|row| format!("g{},{row},{:04}-0{}-01\n", row % 40, row / 5 + 1000, row % 5 + 1))
        .collect();
    let (_dir, client) = client(&format!("g,n,d\n{rows}")).await;
    for (arguments, points, said) in [
        (json!({"kind": "bar", "x": "g"}), 30, "of 40 groups, the 30 with the most rows"),
        (json!({"kind": "box", "x": "g", "y": "n"}), 12, "of 40 groups, the 12 with"),
        (
            json!({"kind": "scatter", "x": "n", "y": "n"}),
            400,
            "of 3000 points a random sample of 400",
        ),
        (json!({"kind": "line", "x": "d", "y": "n"}), 600, "the rows of a year are one point"),
    ] {
        let (chart, ..) = draw(&client, arguments.clone()).await;
        assert_eq!(chart["points"].as_array().unwrap().len(), points, "{arguments}");
        let assumptions = chart["assumptions"].to_string();
        assert!(assumptions.contains(said), "{arguments}: {assumptions}");
    }
}

#[tokio::test]
async fn odd_numbers_are_drawn_and_odd_questions_refused() {
    for text in [
        "a,b\n1e308,-1e308\n-1e308,1e308\n",
        "a,b\n5,5\n5,5\n",
        "a,b\n0.000000000000000000001,1\n0,2\n",
        "a,b\n100000000000000000,1\n100000000000000001,2\n",
        "a,b\n",
    ] {
        let (_dir, client) = client(text).await;
        for arguments in [
            json!({"kind": "histogram", "x": "a"}),
            json!({"kind": "scatter", "x": "a", "y": "b"}),
            json!({"kind": "box", "y": "b"}),
            json!({"kind": "bar", "x": "a", "y": "b"}),
        ] {
            let mut call = arguments.clone();
            call["filepath"] = json!("file.csv");
            let answer = client.call_tool("chart_csv", call).await.unwrap();
            let is_empty = answer.text().contains("holds no numbers") && text.len() == 4;
            assert!(!answer.is_error || is_empty, "{text:?} {arguments}: {}", answer.text());
        }
    }
    let (_dir, client) = client(SALES).await;
    for (arguments, says) in [
        (json!({"kind": "line", "x": "shop"}), "holds no dates"),
        (json!({"kind": "histogram"}), "needs `x`"),
        (json!({"kind": "scatter", "x": "qty"}), "needs `y`"),
        (
            json!({"kind": "bar", "x": "shop", "y": "qty", "operation": "quantiles"}),
            "ask for a `box`",
        ),
        (json!({"kind": "bar", "x": "none"}), "there is no column"),
        (json!({"kind": "pie", "x": "shop"}), "scatter"),
    ] {
        let mut call = arguments.clone();
        call["filepath"] = json!("file.csv");
        let answer = client.call_tool("chart_csv", call).await.unwrap();
        assert!(answer.is_error && answer.text().contains(says), "{arguments}: {}", answer.text());
    }
    let uri = "csv-chart:///%7B%22filepath%22%3A1%7D";
    assert!(client.request("resources/read", json!({"uri": uri})).await.is_err());
}

/// The day comes first, which only the person knew; the link to the SVG knows it as well.
#[tokio::test]
async fn dates_that_nobody_can_order_are_asked_about() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file.csv"), "d,n\n01/02/2024,1\n02/01/2024,2\n").unwrap();
    let answering = Answering::new(json!({"elicitation": {}}), |_, _| {
        Ok(json!({"action": "accept", "content": {"first": "dmy"}}))
    });
    let server = server(Config { dirs: vec![dir.path().to_owned()] }).unwrap();
    let client = Client::in_memory(server, Revision::V2025_11_25, answering).await.unwrap();
    let (chart, _, svg) = draw(&client, json!({"kind": "line", "x": "d", "y": "n"})).await;
    check("asked", &chart, &[("/points", r#"[["2024-01-02", 2], ["2024-02-01", 1]]"#)]);
    assert!(svg.starts_with("<svg"));
}
