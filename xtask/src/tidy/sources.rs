//! Rules about one Rust file, on its text alone. rustfmt decides where a line breaks, so a scan by
//! line is exact enough and needs no parser.

use std::path::Path;

use super::Breaches;

const MAX_FILE_LINES: usize = 400;
const MAX_TEST_FILE_LINES: usize = 500;
const MAX_FUNCTION_LINES: usize = 60;

/// Not in product code: each either stops the process on a peer's word, hides a finding or writes
/// where protocol messages go.
const BANNED: &[(&str, &str)] = &[
    (".unwrap()", "`.unwrap()`: say what happens instead"),
    (".expect(", "`.expect(`: say what happens instead"),
    ("#[allow", "`#[allow]`: use `#[expect(lint, reason = \"…\")]`"),
    ("#![allow", "`#![allow]`: use `#![expect(lint, reason = \"…\")]`"),
    ("#[ignore", "`#[ignore]`: a test runs or does not exist"),
    ("println!", "`println!`: standard output carries protocol messages only"),
    ("dbg!(", "`dbg!`: left over from debugging"),
];

pub(crate) fn check(path: &Path, source: &str, breaches: &mut Breaches) {
    if !source.starts_with("//!") {
        breaches.add(path, Some(1), "begins with `//!` saying why it exists");
    }
    let limit = if is_test(path) { MAX_TEST_FILE_LINES } else { MAX_FILE_LINES };
    let lines = source.lines().count();
    if lines > limit {
        breaches.add(path, None, format!("{lines} lines, at most {limit}"));
    }
    for (line, length) in long_functions(source) {
        let rule = format!("a function of {length} lines, at most {MAX_FUNCTION_LINES}");
        breaches.add(path, Some(line), rule);
    }
    if is_product(path) {
        banned(path, source, breaches);
    }
}

/// Whether the file lies in a folder of tests or is one.
fn is_test(path: &Path) -> bool {
    let part_is_tests = |part: std::path::Component<'_>| {
        let name = part.as_os_str().to_string_lossy();
        name == "tests" || name == "tests.rs"
    };
    path.components().any(part_is_tests)
}

/// What runs in a server: not tests, examples or this tool.
fn is_product(path: &Path) -> bool {
    let has = |name: &str| path.components().any(|part| part.as_os_str() == name);
    !is_test(path) && !has("xtask") && !has("examples") && !has("benches")
}

fn banned(path: &Path, source: &str, breaches: &mut Breaches) {
    for (number, line) in code_lines(source) {
        for (word, rule) in BANNED {
            if line.contains(word) {
                breaches.add(path, Some(number), rule);
            }
        }
    }
}

/// The numbered lines that are code of the product: comments and the test module, which house
/// style puts last, are left out.
pub(crate) fn code_lines(source: &str) -> impl Iterator<Item = (usize, &str)> {
    let product = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let numbered = product.lines().enumerate().map(|(index, line)| (index + 1, line));
    numbered.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Line number and length of each function that is too long.
fn long_functions(source: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = source.lines().collect();
    let mut long = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let length = if begins_function(line) { function_lines(&lines, index) } else { 0 };
        if length > MAX_FUNCTION_LINES {
            long.push((index + 1, length));
        }
    }
    long
}

fn begins_function(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let qualifier =
        |word: &&str| word.starts_with("pub") || ["async", "const", "in", "extern"].contains(word);
    words.by_ref().find(|word| !qualifier(word)) == Some("fn")
}

/// From the `fn` to the brace that closes it at the same indentation; 1 when there is no body.
fn function_lines(lines: &[&str], start: usize) -> usize {
    let rest = || lines.iter().skip(start);
    let Some(signature_end) = rest().position(|line| line.ends_with(['{', '}', ';'])) else {
        return 1;
    };
    if !rest().nth(signature_end).is_some_and(|line| line.ends_with('{')) {
        return signature_end + 1;
    }
    let first = lines.get(start).copied().unwrap_or_default();
    let indent = first.len() - first.trim_start().len();
    let closing = format!("{}}}", " ".repeat(indent));
    rest().position(|line| *line == closing).map_or(1, |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(path: &str, source: &str) -> Vec<String> {
        let mut breaches = Breaches { root: "".into(), found: Vec::new() };
        check(Path::new(path), source, &mut breaches);
        breaches.found
    }

    #[test]
    fn each_rule_finds_its_breach() {
        let body = "    work();\n".repeat(MAX_FUNCTION_LINES);
        let cases = [
            ("fn main() {}\n".to_owned(), "a.rs:1: begins with"),
            (format!("//! Why.\n{}", "// x\n".repeat(MAX_FILE_LINES)), "a.rs: 401 lines"),
            (format!("//! Why.\npub(crate) async fn f(\n    a: u8,\n) {{\n{body}}}\n"), "a.rs:2:"),
            ("//! Why.\nfn f() {\n    g().unwrap();\n}\n".to_owned(), "a.rs:3: `.unwrap()`"),
            ("//! Why.\n#[allow(dead_code)]\nfn f() {}\n".to_owned(), "a.rs:2: `#[allow]`"),
            ("//! Why.\nfn f() {\n    eprintln!();\n}\n".to_owned(), "a.rs:3: `println!`"),
        ];
        for (source, expected) in cases {
            let found = breaches("a.rs", &source);
            assert_eq!(found.len(), 1, "{source}\n{found:?}");
            assert!(found[0].starts_with(expected), "{found:?} is not {expected}");
        }
    }

    #[test]
    fn what_is_allowed_is_not_reported() {
        let cases = [
            ("shared/src/a.rs", "//! Why.\n/// `x.unwrap()` in a comment.\nfn f() {}\n"),
            (
                "shared/src/a.rs",
                "//! Why.\nfn f() {}\n\n#[cfg(test)]\nmod tests {\n    x.unwrap()\n}\n",
            ),
            ("crates/a/src/tests.rs", "//! Why.\nfn f() {\n    g().unwrap();\n}\n"),
            (
                "a.rs",
                "//! Why.\n#[expect(dead_code, reason = \"x\")]\ntrait T {\n    fn f(&self);\n}\n",
            ),
        ];
        for (path, source) in cases {
            assert_eq!(breaches(path, source), Vec::<String>::new(), "{source}");
        }
    }
}
