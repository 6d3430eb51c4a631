//! directory_tree: the upper levels first, links not followed, cuts counted.

use mcp::Revision;
use serde_json::json;

use super::{connect, directory, refusal, text};

#[tokio::test]
async fn a_tree_shows_the_upper_levels_first() {
    let dir = directory();
    let top = dir.path().join("inside/top");
    for path in ["a/one/x/y", "b/two", "ignored/z", "keys"] {
        std::fs::create_dir_all(top.join(path)).unwrap();
    }
    for path in ["a/1", "a/2", "b/3", "c", "a/one/x/y/deep", "ignored/z/i", "a/.env"] {
        std::fs::write(top.join(path), "").unwrap();
    }
    std::fs::write(top.join(".gitignore"), "ignored/").unwrap();
    std::os::unix::fs::symlink("..", top.join("loop")).unwrap();
    let client = connect(dir.path(), Revision::V2025_11_25).await;
    for (arguments, right) in [
        (
            json!({}),
            ".gitignore\na/\n  1\n  2\n  one/\n    x/\n      y/\n        deep\nb/\n  3\n  two/\nc\nloop [link]\n",
        ),
        (
            json!({"maxDepth": 2, "excludePatterns": ["b"]}),
            ".gitignore\na/\n  1\n  2\n  one/ [not looked into]\nc\nloop [link]\n",
        ),
        (
            json!({"maxEntries": 7}),
            ".gitignore\na/\n  1\n  2\n  [1 more]\nb/ [not looked into]\nc\nloop [link]\n",
        ),
        (
            json!({"maxEntries": 3}),
            ".gitignore\na/ [not looked into]\nb/ [not looked into]\n[2 more]\n",
        ),
    ] {
        let mut arguments = arguments;
        arguments["path"] = json!("top");
        assert_eq!(text(&client, "directory_tree", arguments.clone()).await, right, "{arguments}");
    }
    let all = text(&client, "directory_tree", json!({"path": "top", "includeIgnored": true})).await;
    assert!(all.contains("ignored/\n  z/\n    i\n"), "{all}");
    assert_eq!(text(&client, "directory_tree", json!({"path": "top/b/two"})).await, "[empty]");
    assert!(
        refusal(&client, "directory_tree", json!({"path": "top/c"})).await.contains("not a dir")
    );
}
