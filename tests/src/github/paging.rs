//! Pages as GitHub links them: by an address of its own, to the repository by number, and for
//! issues by a cursor only it understands. The emulator counts pages and links to itself.

use super::message::Message;
use super::proxy::{REPO, REPO_BY_NUMBER};

/// What a cursor begins and ends with; between them is the emulator's page. The end shows whether a
/// client sends a cursor as it came or encodes it anew.
const CURSOR: (&str, &str) = ("Y3Vyc29yOnYyOpHP", "%3D%3D");
pub(super) const NOT_BY_NUMBER: &[u8] = br#"{"message":"Pagination with the page parameter is not supported for large datasets, please use cursor based pagination (after/before)"}"#;

/// Whether a page of issues is asked for by its number, which GitHub refuses for long lists.
pub(super) fn is_by_number(path: &str) -> bool {
    is_of_issues(path) && fields(path).any(|field| field.starts_with("page="))
}

/// The path as the emulator knows it: a repository by its name, a page by its number.
pub(super) fn for_the_emulator(path: &str) -> String {
    let path = match path.strip_prefix(REPO_BY_NUMBER) {
        Some(rest) => format!("{REPO}{rest}"),
        None => path.to_owned(),
    };
    path.replace(&format!("after={}", CURSOR.0), "page=").replace(CURSOR.1, "")
}

/// The answer with its links leading below `base`, which is where the client has asked.
pub(super) fn relinked(answer: Message, base: &str) -> Message {
    let Some(links) = answer.header("link") else { return answer };
    let links: Vec<String> = links.split(", ").map(|link| relink(link, base)).collect();
    let others = answer.head().lines().filter(|line| !line.to_lowercase().starts_with("link: "));
    let head = others.collect::<Vec<_>>().join("\r\n");
    let head = format!("{head}\r\nlink: {}\r\n\r\n", links.join(", "));
    Message::whole([head.as_bytes(), answer.body()].concat()).unwrap_or(answer)
}

/// `<http://emulator/repos/o/r/issues?page=2>; rel="next"` with another address.
fn relink(link: &str, base: &str) -> String {
    let Some((url, rel)) = link.trim_start_matches('<').split_once('>') else {
        return link.to_owned();
    };
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    let mut path = format!("/{path}").replace(REPO, REPO_BY_NUMBER);
    if is_of_issues(&path) {
        let opaque = fields(&path).find_map(|field| field.strip_prefix("page="));
        if let Some(page) = opaque.map(str::to_owned) {
            let after = format!("after={}{page}{}", CURSOR.0, CURSOR.1);
            path = path.replace(&format!("?page={page}"), &format!("?{after}"));
            path = path.replace(&format!("&page={page}"), &format!("&{after}"));
        }
    }
    format!("<{base}{path}>{rel}")
}

fn is_of_issues(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    [REPO, REPO_BY_NUMBER].iter().any(|repo| path.strip_prefix(repo) == Some("/issues"))
}

fn fields(path: &str) -> impl Iterator<Item = &str> {
    path.split(['?', '&']).skip(1)
}
