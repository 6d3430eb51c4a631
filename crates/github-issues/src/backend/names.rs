//! Labels, milestones and assignees by their names. GitHub creates a label it does not know, and
//! drops others silently, so names are looked up first.

use super::api::Api;
use super::error::Error;
use super::model::{Label, Milestone};
use super::place::Repo;

/// As much of a list as is read; a longer one cannot tell what is not there.
const MAX_KNOWN: usize = 1_000;

impl Api<'_> {
    pub(crate) async fn labels(&self, repo: &Repo) -> Result<Vec<Label>, Error> {
        let entries = self.all(&repo.path(&["labels"])?, "").await?;
        Ok(entries.iter().filter_map(Label::read).collect())
    }

    /// Milestones in `state`: `open`, `closed` or `all`.
    pub(crate) async fn milestones(
        &self,
        repo: &Repo,
        state: &str,
    ) -> Result<Vec<Milestone>, Error> {
        let entries = self.all(&repo.path(&["milestones"])?, &format!("state={state}")).await?;
        Ok(entries.iter().filter_map(Milestone::read).collect())
    }

    /// The names as the repository writes them; an unknown one is refused with the nearest.
    pub(crate) async fn label_names(
        &self,
        repo: &Repo,
        wanted: &[String],
    ) -> Result<Vec<String>, Error> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let known: Vec<String> =
            self.labels(repo).await?.into_iter().map(|label| label.name).collect();
        wanted.iter().map(|name| spelled("label", name, repo, &known)).collect()
    }

    pub(crate) async fn label_name(&self, repo: &Repo, wanted: &str) -> Result<String, Error> {
        let known = self.labels(repo).await?.into_iter().map(|label| label.name);
        spelled("label", wanted, repo, &known.collect::<Vec<_>>())
    }

    /// The logins as GitHub writes them; one that nothing can be assigned to is refused with the
    /// nearest. Where the list is too long or not to be had, and for bots, GitHub itself judges.
    pub(crate) async fn assignee_names(
        &self,
        repo: &Repo,
        wanted: &[String],
    ) -> Result<Vec<String>, Error> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let known = match self.assignees(repo).await {
            Ok(known) if known.len() < MAX_KNOWN => known,
            Ok(_) | Err(Error::NotFound { .. } | Error::Forbidden { .. }) => {
                return Ok(wanted.to_vec());
            }
            Err(error) => return Err(error),
        };
        let named = |name: &String| match name.trim_start_matches('@') {
            bot if bot.ends_with("[bot]") => Ok(bot.to_owned()),
            login => spelled("assignee", login, repo, &known),
        };
        wanted.iter().map(named).collect()
    }

    /// A milestone's number, from its title or its number.
    pub(crate) async fn milestone_number(&self, repo: &Repo, wanted: &str) -> Result<u64, Error> {
        let known = self.milestones(repo, "all").await?;
        let by_title =
            known.iter().find(|known| known.title.to_lowercase() == wanted.to_lowercase());
        let by_number = || {
            let number: u64 = wanted.trim_start_matches('#').parse().ok()?;
            known.iter().find(|known| known.number == number)
        };
        let titles: Vec<String> = known.iter().map(|known| known.title.clone()).collect();
        by_title
            .or_else(by_number)
            .map(|milestone| milestone.number)
            .ok_or_else(|| unknown("milestone", wanted, repo, &titles))
    }
}

fn spelled(kind: &'static str, name: &str, repo: &Repo, known: &[String]) -> Result<String, Error> {
    let same = known.iter().find(|known| known.to_lowercase() == name.to_lowercase());
    same.cloned().ok_or_else(|| unknown(kind, name, repo, known))
}

fn unknown(kind: &'static str, name: &str, repo: &Repo, known: &[String]) -> Error {
    Error::UnknownName {
        kind,
        name: super::text::line(name, 80),
        place: repo.to_string(),
        hint: hint(name, known),
    }
}

/// The nearest names, or the first of all when none is near.
fn hint(name: &str, known: &[String]) -> String {
    let name = name.to_lowercase();
    let mut scored: Vec<(f64, &String)> =
        known.iter().map(|known| (likeness(&name, &known.to_lowercase()), known)).collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let near: Vec<_> =
        scored.iter().take_while(|(score, _)| *score > 0.75).take(3).map(|(_, n)| n).collect();
    let quoted = |names: &[&&String]| {
        names.iter().map(|name| format!("{:?}", super::text::line(name, 50))).collect::<Vec<_>>()
    };
    if !near.is_empty() {
        return format!(" Did you mean {}?", quoted(&near).join(" or "));
    }
    let some: Vec<_> = scored.iter().take(10).map(|(_, name)| name).collect();
    match some.is_empty() {
        true => " There are none yet.".to_owned(),
        false => format!(" There are {}: {}.", known.len(), quoted(&some).join(", ")),
    }
}

/// 0 to 1; what one begins like the other counts as near, for the sake of short forms.
fn likeness(a: &str, b: &str) -> f64 {
    let same_start = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let start = if same_start >= 3 { 0.8 } else { 0.0 };
    strsim::jaro_winkler(a, b).max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered() {
        let known = ["bug", "documentation", "good first issue"].map(str::to_owned);
        for (name, offered) in [
            ("bugs", " Did you mean \"bug\"?"),
            ("docs", " Did you mean \"documentation\"?"),
            ("zzz", " There are 3: "),
        ] {
            assert!(hint(name, &known).starts_with(offered), "{name}: {}", hint(name, &known));
        }
        assert_eq!(hint("x", &[]), " There are none yet.");
    }
}
