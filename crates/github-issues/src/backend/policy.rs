//! What the operator allows, whatever a model asks for. Checked where requests leave, so no tool
//! can forget it.

use anyhow::ensure;
use serde_json::Value;

use super::error::Error;
use super::place::{Repo, is_owner};
use super::text;
use crate::config::Config;

#[derive(Debug)]
pub(crate) struct Policy {
    served: Vec<Served>,
    /// Of those, what may be changed; everything if empty.
    writable: Vec<Served>,
    pub(crate) read_only: bool,
    /// Withhold text by outsiders.
    pub(crate) lockdown: bool,
    /// Do not ask before what cannot be undone.
    pub(crate) yes: bool,
}

#[derive(Debug)]
enum Served {
    One(Repo),
    AllOf(String),
}

impl Policy {
    pub(crate) fn new(config: &Config) -> anyhow::Result<Self> {
        Ok(Self {
            served: Served::parse("--repos", &config.repos)?,
            writable: Served::parse("--write-repos", &config.write_repos)?,
            read_only: config.read_only,
            lockdown: config.lockdown,
            yes: config.yes,
        })
    }

    /// The repository a tool means: the one it names, or the only one there is.
    pub(crate) fn repo(&self, named: Option<&str>) -> Result<Repo, Error> {
        match (named, self.served.as_slice()) {
            (None, [Served::One(only)]) => Ok(only.clone()),
            (None, _) => Err(Error::NoRepo),
            (Some(text), _) => {
                let repo = Repo::parse(text)?;
                if self.serves(&repo) {
                    return Ok(repo);
                }
                Err(Error::NotServed { repo: repo.to_string(), served: self.served() })
            }
        }
    }

    /// The repositories served by name.
    pub(crate) fn repos(&self) -> impl Iterator<Item = &Repo> {
        self.served.iter().filter_map(|served| match served {
            Served::One(repo) => Some(repo),
            Served::AllOf(_) => None,
        })
    }

    /// Whose repositories are served, each once; none if everybody's are.
    pub(crate) fn owners(&self) -> Vec<String> {
        let mut owners: Vec<String> = Vec::new();
        for served in &self.served {
            let (Served::One(Repo { owner, .. }) | Served::AllOf(owner)) = served;
            if !owners.iter().any(|known| known.eq_ignore_ascii_case(owner)) {
                owners.push(owner.clone());
            }
        }
        owners
    }

    pub(crate) fn serves(&self, repo: &Repo) -> bool {
        self.served.is_empty() || self.served.iter().any(|served| served.covers(repo))
    }

    /// What is served, for people; empty if everything is.
    pub(crate) fn served(&self) -> String {
        terms(&self.served, "", "").join(", ")
    }

    /// What may be changed of it, for people; empty if everything may be.
    pub(crate) fn writable(&self) -> String {
        terms(&self.writable, "", "").join(", ")
    }

    /// The qualifiers that keep a search inside.
    pub(crate) fn search_scope(&self) -> Vec<String> {
        terms(&self.served, "repo:", "user:")
    }

    /// Whether this may be sent to GitHub. Nothing outside of repositories is ever written.
    pub(crate) fn check_write(&self, path: &str, body: Option<&Value>) -> Result<(), Error> {
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        if !self.writable.is_empty() {
            let mut names = path.strip_prefix("/repos/").unwrap_or_default().split('/');
            let (owner, name) =
                (names.next().unwrap_or_default(), names.next().unwrap_or_default());
            let repo = Repo::parse(&format!("{owner}/{name}"))?;
            if !self.writable.iter().any(|writable| writable.covers(&repo)) {
                let (repo, writable) = (repo.to_string(), self.writable());
                return Err(Error::NotWritable { repo, writable });
            }
        }
        match body.and_then(secret_in) {
            Some(kind) => Err(Error::Secret { kind }),
            None => Ok(()),
        }
    }
}

impl Served {
    fn parse(flag: &str, texts: &[String]) -> anyhow::Result<Vec<Self>> {
        let served = texts.iter().map(|text| {
            let text = text.trim();
            if let Some(owner) = text.strip_suffix("/*") {
                ensure!(is_owner(owner), "{flag} {text}: {owner} is no owner");
                return Ok(Self::AllOf(owner.to_owned()));
            }
            Ok(Self::One(Repo::parse(text).map_err(|error| anyhow::anyhow!("{flag}: {error}"))?))
        });
        served.collect()
    }

    /// GitHub tells no upper case from lower.
    fn covers(&self, repo: &Repo) -> bool {
        match self {
            Self::AllOf(owner) => owner.eq_ignore_ascii_case(&repo.owner),
            Self::One(one) => {
                one.owner.eq_ignore_ascii_case(&repo.owner)
                    && one.name.eq_ignore_ascii_case(&repo.name)
            }
        }
    }
}

fn terms(served: &[Served], repo: &str, owner: &str) -> Vec<String> {
    let wildcard = if owner.is_empty() { "/*" } else { "" };
    let term = |served: &Served| match served {
        Served::One(one) => format!("{repo}{one}"),
        Served::AllOf(all) => format!("{owner}{all}{wildcard}"),
    };
    served.iter().map(term).collect()
}

fn secret_in(value: &Value) -> Option<&'static str> {
    match value {
        Value::String(string) => text::find_secret(string),
        Value::Array(items) => items.iter().find_map(secret_in),
        Value::Object(members) => members.values().find_map(secret_in),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(repos: &[&str]) -> Policy {
        let repos = repos.iter().map(|text| (*text).to_owned()).collect();
        Policy::new(&Config { repos, ..Config::default() }).unwrap()
    }

    #[test]
    fn only_what_is_served_is_touched() {
        for (served, named, good) in [
            (&[][..], Some("a/b"), true),
            (&[][..], None, false),
            (&["a/b"][..], None, true),
            (&["a/b"][..], Some("A/B"), true),
            (&["a/b"][..], Some("a/c"), false),
            (&["a/b", "c/*"][..], Some("C/anything"), true),
            (&["a/b", "c/*"][..], None, false),
            (&["c/*"][..], Some("cc/x"), false),
        ] {
            assert_eq!(policy(served).repo(named).is_ok(), good, "{served:?} {named:?}");
        }
        assert_eq!(policy(&["a/b", "c/*"]).search_scope(), ["repo:a/b", "user:c"]);
        assert_eq!(policy(&["a/b", "c/*"]).served(), "a/b, c/*");
        for bad in ["", "a", "/*", "*/b", "a/b/c"] {
            let config = Config { repos: vec![bad.to_owned()], ..Config::default() };
            assert!(Policy::new(&config).is_err(), "{bad}");
        }
    }

    #[test]
    fn secrets_stay_here_wherever_they_are() {
        let token = format!("ghp_{}", "a1".repeat(18));
        let body = serde_json::json!({"title": "x", "labels": ["a", format!("b {token}")]});
        let check = |body| policy(&[]).check_write("/repos/o/r/issues", Some(&body));
        assert!(matches!(check(body), Err(Error::Secret { .. })));
        assert!(check(serde_json::json!({"title": "x"})).is_ok());
    }
}
