//! Which repository, and the paths below it. A name that came from a model reaches a path only
//! through [`Repo`] and [`path`], so none can lead to another endpoint.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::Error;

/// What RFC 3986 leaves as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// `owner/name`, both checked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Repo {
    pub(crate) owner: String,
    pub(crate) name: String,
}

impl Repo {
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let bad = || Error::BadRepo { text: super::text::excerpt(text, 80) };
        let (owner, name) = text.trim().split_once('/').ok_or_else(bad)?;
        if is_owner(owner) && is_name(name) {
            Ok(Self { owner: owner.to_owned(), name: name.to_owned() })
        } else {
            Err(bad())
        }
    }

    /// `/repos/{owner}/{name}` and further segments, each percent-encoded.
    pub(crate) fn path(&self, segments: &[&str]) -> Result<String, Error> {
        path(&[&["repos", self.owner.as_str(), self.name.as_str()], segments].concat())
    }

    pub(crate) fn issue(&self, number: u64, segments: &[&str]) -> Result<String, Error> {
        self.path(&[&["issues", number.to_string().as_str()], segments].concat())
    }
}

impl fmt::Display for Repo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// Segments joined to an absolute path. A dot segment is refused: encoded or not, servers and
/// proxies resolve it.
pub(crate) fn path(segments: &[&str]) -> Result<String, Error> {
    let mut path = String::new();
    for segment in segments {
        if matches!(*segment, "" | "." | "..") {
            return Err(Error::BadName { name: (*segment).to_owned() });
        }
        path.push('/');
        path.extend(utf8_percent_encode(segment, SEGMENT));
    }
    Ok(path)
}

/// `name=value` pairs as a query string, percent-encoded.
pub(crate) fn query(pairs: &[(&str, &str)]) -> String {
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, SEGMENT)))
        .collect();
    pairs.join("&")
}

pub(crate) fn is_owner(text: &str) -> bool {
    // Enterprise accounts may carry an underscore.
    (1..=39).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=100).contains(&text.len()) && text.bytes().all(fits) && !matches!(text, "." | "..")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for (text, good) in [
            ("octocat/hello", true),
            ("octo-cat_x/hello.rs", true),
            (" octocat/hello ", true),
            ("octocat", false),
            ("/hello", false),
            ("octocat/", false),
            ("octocat/..", false),
            ("../user", false),
            ("octocat/a/b", false),
            ("octocat/a?x=", false),
            ("octocat/a#x", false),
            ("octocat/a%2f", false),
            ("octo cat/a", false),
            ("octocat/é", false),
            ("octocat/a\r\nX: y", false),
        ] {
            assert_eq!(Repo::parse(text).is_ok(), good, "{text}");
        }
    }

    #[test]
    fn segments_are_encoded() {
        let repo = Repo::parse("o/r").unwrap();
        for (label, path) in [
            ("bug", Some("/repos/o/r/labels/bug")),
            ("bug/ui: 🐛 &?#", Some("/repos/o/r/labels/bug%2Fui%3A%20%F0%9F%90%9B%20%26%3F%23")),
            ("..", None),
            ("", None),
            ("../x", Some("/repos/o/r/labels/..%2Fx")),
            ("100%", Some("/repos/o/r/labels/100%25")),
        ] {
            assert_eq!(repo.path(&["labels", label]).ok().as_deref(), path, "{label}");
        }
        assert_eq!(
            query(&[("labels", "a b,c&d"), ("state", "all")]),
            "labels=a%20b%2Cc%26d&state=all"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_a_name_holds_it_stays_one_segment(name in "\\PC{0,20}|[./?#%&+ 🐛]{0,6}") {
            let repo = Repo::parse("o/r").unwrap();
            match repo.path(&["labels", &name]) {
                Ok(path) => {
                    prop_assert!(path.starts_with("/repos/o/r/labels/"));
                    prop_assert!(path.is_ascii() && !path.contains(['?', '#', ' ', '\\']));
                    let segments: Vec<&str> = path.split('/').collect();
                    prop_assert_eq!(segments.len(), 6);
                    let last = percent_encoding::percent_decode_str(segments[5]);
                    prop_assert_eq!(last.decode_utf8().unwrap(), name.as_str());
                }
                Err(_) => prop_assert!(["", ".", ".."].contains(&name.as_str())),
            }
            if let Ok(repo) = Repo::parse(&format!("o/{name}")) {
                prop_assert_eq!(repo.path(&[]).unwrap(), format!("/repos/o/{}", name.trim()));
            }
        }
    }
}
