//! The result: a table of medians, a verdict for each target with the ratio to the official SDK and
//! to the floor, and what was not measured and why.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};

use super::metric::{Figures, Metric, PIPELINED_OVER_SDK, SPECS, Spec, Target};
use super::stdio::percentile;
use super::{procfs, subject::MODERN};

const SDK: &str = "rmcp";
const FLOOR: &str = "floor-inline";
/// The targets bind our servers; the peers are measured to compare.
const BOUND: &[&str] = &["calculator", "echo", "csv"];

type Key = (&'static str, &'static str);

pub(crate) struct Report {
    /// In the order measured.
    order: Vec<Key>,
    rounds: BTreeMap<Key, Vec<Figures>>,
    verdicts: Vec<Verdict>,
    skipped: Vec<(String, String)>,
    load_before: Option<f64>,
}

struct Verdict {
    name: String,
    what: String,
    value: f64,
    target: Option<Target>,
    note: String,
}

impl Report {
    pub(crate) fn new() -> Self {
        Self {
            order: Vec::new(),
            rounds: BTreeMap::new(),
            verdicts: Vec::new(),
            skipped: Vec::new(),
            load_before: procfs::load_average(),
        }
    }

    pub(crate) fn add(&mut self, subject: &'static str, revision: &'static str, figures: Figures) {
        let key = (subject, revision);
        if !self.order.contains(&key) {
            self.order.push(key);
        }
        self.rounds.entry(key).or_default().push(figures);
    }

    /// A figure that stands alone, outside the table of servers.
    pub(crate) fn state(&mut self, name: &str, what: &str, value: f64, target: Option<Target>) {
        let (name, what) = (name.to_owned(), what.to_owned());
        self.verdicts.push(Verdict { name, what, value, target, note: String::new() });
    }

    pub(crate) fn skip(&mut self, what: &str, reason: &str) {
        self.skip_all(vec![(what.to_owned(), reason.to_owned())]);
    }

    pub(crate) fn skip_all(&mut self, skipped: Vec<(String, String)>) {
        self.skipped.extend(skipped);
    }

    /// A server that failed under measurement missed a target, in however many rounds it did.
    pub(crate) fn fail(&mut self, name: &str, revision: &str, error: &anyhow::Error) {
        let target = BOUND.contains(&name).then_some(Target::AtMost(0.0));
        let (name, what) = (format!("{name} {revision}"), "failed rounds");
        let mut known = self.verdicts.iter_mut();
        if let Some(known) = known.find(|known| known.name == name && known.what == what) {
            known.value += 1.0;
            return;
        }
        self.verdicts.push(Verdict {
            name,
            what: what.to_owned(),
            value: 1.0,
            target,
            note: format!("{error:#}"),
        });
    }

    pub(crate) fn missed(&self) -> usize {
        self.all_verdicts().iter().filter(|verdict| !verdict.holds()).count()
    }

    pub(crate) fn print(&self) {
        self.print_table();
        println!();
        for verdict in self.all_verdicts() {
            println!("{}", verdict.line());
        }
        for (what, reason) in &self.skipped {
            println!("skipped  {what}: {reason}");
        }
        let shown =
            |load: Option<f64>| load.map_or_else(|| "?".to_owned(), |load| load.to_string());
        let (before, after) = (shown(self.load_before), shown(procfs::load_average()));
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        println!("\nload average {before} before, {after} after, on {cores} cores");
    }

    fn print_table(&self) {
        let measured =
            |spec: &&Spec| self.order.iter().any(|key| self.median(*key, spec.metric).is_some());
        let columns: Vec<&Spec> = SPECS.iter().filter(measured).collect();
        if columns.is_empty() {
            return;
        }
        let titles: Vec<_> = columns.iter().map(|spec| spec.title).collect();
        println!("\n| server | revision | {} |", titles.join(" | "));
        println!("|---|---|{}", "---:|".repeat(columns.len()));
        for key in &self.order {
            let cells = columns
                .iter()
                .map(|spec| self.median(*key, spec.metric).map_or_else(|| "–".to_owned(), rounded));
            println!("| {} | {} | {} |", key.0, key.1, cells.collect::<Vec<_>>().join(" | "));
        }
    }

    fn all_verdicts(&self) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for key in self.order.iter().filter(|key| BOUND.contains(&key.0)) {
            for spec in SPECS {
                verdicts.extend(self.verdict(*key, spec));
            }
            verdicts.extend(self.pipelined_over_sdk(*key));
        }
        verdicts.extend(self.verdicts.iter().map(Verdict::copied));
        verdicts
    }

    fn verdict(&self, key: Key, spec: &Spec) -> Option<Verdict> {
        let value = self.median(key, spec.metric)?;
        let target = spec.target?;
        let ratio = |name: &str, other: Option<f64>| {
            let times = other.map(|other| value / other)?;
            Some(format!("{times:.2} × {name}"))
        };
        let ratios = if spec.compared {
            let sdk = ratio(SDK, self.of_sdk(key.1, spec.metric));
            let floor = ratio(FLOOR, self.median((FLOOR, "2025-11-25"), spec.metric));
            sdk.into_iter().chain(floor).collect::<Vec<_>>().join(", ")
        } else {
            String::new()
        };
        let name = format!("{} {}", key.0, key.1);
        let what = spec.title.to_owned();
        Some(Verdict { name, what, value, target: Some(target), note: ratios })
    }

    fn pipelined_over_sdk(&self, key: Key) -> Option<Verdict> {
        let ours = self.median(key, Metric::Pipelined)?;
        let theirs = self.of_sdk(key.1, Metric::Pipelined)?;
        Some(Verdict {
            name: format!("{} {}", key.0, key.1),
            what: format!("pipe calls/s : {SDK}"),
            value: ours / theirs,
            target: Some(PIPELINED_OVER_SDK),
            note: String::new(),
        })
    }

    /// The SDK in the same era; it is measured in one revision of each.
    fn of_sdk(&self, revision: &str, metric: Metric) -> Option<f64> {
        let revision = if revision == MODERN { MODERN } else { "2025-11-25" };
        self.median((SDK, revision), metric)
    }

    fn median(&self, key: Key, metric: Metric) -> Option<f64> {
        let rounds = self.rounds.get(&key)?;
        let mut values: Vec<_> =
            rounds.iter().filter_map(|figures| figures.0.get(&metric).copied()).collect();
        percentile(&mut values, 0.5)
    }

    pub(crate) fn json(&self) -> Result<String> {
        let rows = self.order.iter().flat_map(|key| SPECS.iter().map(move |spec| (key, spec)));
        let rows = rows.filter_map(|(key, spec)| {
            let median = self.median(*key, spec.metric)?;
            let rounds = self.rounds.get(key)?.iter();
            let rounds: Vec<_> = rounds.filter_map(|figures| figures.0.get(&spec.metric)).collect();
            Some(json!({"server": key.0, "revision": key.1, "metric": spec.key,
                "median": median, "rounds": rounds}))
        });
        let report = json!({
            "figures": rows.collect::<Vec<Value>>(),
            "verdicts": self.all_verdicts().iter().map(Verdict::json).collect::<Vec<_>>(),
            "skipped": self.skipped.iter().map(|(what, reason)| json!({"what": what,
                "reason": reason})).collect::<Vec<_>>(),
            "load_average": self.load_before,
        });
        Ok(serde_json::to_string_pretty(&report)? + "\n")
    }
}

impl Verdict {
    fn holds(&self) -> bool {
        self.target.is_none_or(|target| target.holds(self.value))
    }

    fn word(&self) -> &'static str {
        match self.target {
            None => "stated",
            Some(_) if self.holds() => "holds",
            Some(_) => "MISSED",
        }
    }

    fn line(&self) -> String {
        let target = self.target.map_or_else(String::new, |target| format!("target {target}"));
        let value = rounded(self.value);
        let (word, name, what) = (self.word(), &self.name, &self.what);
        format!("{word:<8} {name:<24} {what:<24} {value:>10}  {target:<16} {}", self.note)
            .trim_end()
            .to_owned()
    }

    fn json(&self) -> Value {
        json!({"name": self.name, "what": self.what, "value": self.value,
            "target": self.target.map(|target| target.to_string()), "verdict": self.word(),
            "note": self.note})
    }

    fn copied(&self) -> Self {
        let (name, what, note) = (self.name.clone(), self.what.clone(), self.note.clone());
        Self { name, what, value: self.value, target: self.target, note }
    }
}

/// Three digits are as much as such figures carry.
fn rounded(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
