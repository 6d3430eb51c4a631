//! Files as resources: the same walls as the tools have.

use mcp::Revision;
use serde_json::json;

use super::{connect, directory};

#[tokio::test]
async fn directories_are_listed_and_all_below_is_read() {
    let dir = directory();
    let inside = dir.path().join("inside");
    std::fs::write(inside.join("a b\u{e4}?%.txt"), "odd name").unwrap();
    for revision in Revision::ALL {
        let client = connect(dir.path(), revision).await;
        let listed = client.list("resources/list", "resources").await.unwrap();
        let root = listed[0]["uri"].as_str().unwrap().to_owned();
        assert_eq!((listed.len(), root.clone()), (1, format!("file://{}", inside.display())));
        let directory = client.read_resource(&root).await.unwrap();
        let names = directory[0]["text"].as_str().unwrap();
        assert!(names.contains("folder/\n") && !names.contains(".env"), "{names}");
        for (path, right) in [
            ("lines.txt", "l1\nl2\nl3\n"),
            ("folder/../lines.txt", "l1\nl2\nl3\n"),
            ("link-absolute-inside/b.txt", "b"),
            ("a%20b%C3%A4%3F%25.txt", "odd name"),
        ] {
            let contents = client.read_resource(&format!("{root}/{path}")).await.unwrap();
            assert_eq!(contents[0]["text"], right, "{path}");
        }
        let binary = client.read_resource(&format!("{root}/binary")).await.unwrap();
        assert_eq!(binary[0]["blob"], "/wA=");
        for path in [
            "missing",
            ".env",
            "keys/id",
            "link-keys/id",
            "link-out",
            "link-absolute",
            "link-up/secret.txt",
            "link-magic/etc/passwd",
            "../secret.txt",
            "%2e%2e/secret.txt",
            "%2e%2e%2fsecret.txt",
            "fifo",
            "socket",
            "loop",
            "%00",
        ] {
            let failure = client.read_resource(&format!("{root}/{path}")).await.unwrap_err();
            let said = failure.to_string();
            assert!(said.contains("not found"), "{path}: {said}");
        }
        for uri in ["file:///etc/passwd", "file:///proc/self/root/etc/passwd", "file://other/x"] {
            assert!(client.read_resource(uri).await.is_err(), "{uri}");
        }
    }
}

#[tokio::test]
async fn paths_are_completed_and_only_inside() {
    let dir = directory();
    let inside = dir.path().join("inside");
    let inside = inside.to_str().unwrap().trim_start_matches('/');
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    let beside = dir.path().join("sec").to_str().unwrap().trim_start_matches('/').to_owned();
    for (typed, right) in [
        ("", vec![format!("{inside}/")]),
        (&inside[..3], vec![format!("{inside}/")]),
        (
            &format!("{inside}/li"),
            ["lines.txt", "link-absolute", "link-absolute-inside"]
                .iter()
                .map(|name| format!("{inside}/{name}"))
                .collect(),
        ),
        (&format!("{inside}/fol"), vec![format!("{inside}/folder/")]),
        (
            &format!("{inside}/folder/"),
            vec![format!("{inside}/folder/b.txt"), format!("{inside}/folder/link-round")],
        ),
        (&format!("{inside}/.e"), vec![]),
        (&format!("{inside}/keys/"), vec![]),
        (&format!("{inside}/../"), vec![]),
        (&format!("{inside}/link-up/"), vec![]),
        (&beside, vec![]),
        ("etc/pass", vec![]),
    ] {
        let completion = json!({
            "ref": {"type": "ref/resource", "uri": "file:///{+path}"},
            "argument": {"name": "path", "value": typed},
        });
        let answer = client.request("completion/complete", completion).await.unwrap();
        let mut values: Vec<String> =
            serde_json::from_value(answer["completion"]["values"].clone()).unwrap();
        values.truncate(3);
        assert_eq!(values, right, "{typed}");
    }
}
