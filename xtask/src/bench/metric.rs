//! What each figure is called and what it must be. The targets are the project's promise; a change
//! here is a change of that promise.

use std::collections::BTreeMap;

/// In the order of the report's columns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Metric {
    Start,
    StartCpu,
    RssStart,
    SequentialFree,
    /// On one core, as is the next.
    SequentialP50,
    SequentialP99,
    SequentialCpu,
    Pipelined,
    PipelinedCpu,
    Reordered,
    RssAfter,
    RssMillion,
    RssGrowth,
    Ask,
    AskCpu,
    Echo,
    EchoCpu,
    RssEcho,
    Exit,
}

pub(crate) struct Spec {
    pub(crate) metric: Metric,
    /// The key in the JSON report; its last word is the unit.
    pub(crate) key: &'static str,
    pub(crate) title: &'static str,
    pub(crate) target: Option<Target>,
    /// Whether the report states how this compares to the official SDK and the floor.
    pub(crate) compared: bool,
}

#[derive(Clone, Copy)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
}

/// How many times more pipelined calls a second than the official SDK.
pub(crate) const PIPELINED_OVER_SDK: Target = AtLeast(4.0);

use Metric as M;
use Target::{AtLeast, AtMost};

#[rustfmt::skip] // a table
pub(crate) const SPECS: &[Spec] = &[
    spec(M::Start, "start_ms", "start ms", Some(AtMost(3.0)), true),
    spec(M::StartCpu, "start_cpu_ms", "start CPU ms", None, false),
    spec(M::RssStart, "rss_start_mb", "RSS start MB", Some(AtMost(5.0)), false),
    spec(M::SequentialFree, "sequential_free_p50_us", "seq free µs", None, false),
    spec(M::SequentialP50, "sequential_p50_us", "seq p50 µs", Some(AtMost(30.0)), true),
    spec(M::SequentialP99, "sequential_p99_us", "seq p99 µs", None, false),
    spec(M::SequentialCpu, "sequential_cpu_us", "seq CPU µs", None, true),
    spec(M::Pipelined, "pipelined_per_s", "pipe calls/s", Some(AtLeast(250_000.0)), true),
    spec(M::PipelinedCpu, "pipelined_cpu_us", "pipe CPU µs", Some(AtMost(4.0)), true),
    spec(M::Reordered, "reordered_percent", "reordered %", Some(AtMost(0.0)), false),
    spec(M::RssAfter, "rss_after_mb", "RSS after MB", None, false),
    spec(M::RssMillion, "rss_million_mb", "RSS 1 M MB", None, false),
    spec(M::RssGrowth, "rss_growth_mb", "growth MB", Some(AtMost(0.5)), false),
    spec(M::Ask, "ask_p50_us", "ask µs", None, false),
    spec(M::AskCpu, "ask_cpu_us", "ask CPU µs", Some(AtMost(150.0)), false),
    spec(M::Echo, "echo_1mb_ms", "1 MB ms", Some(AtMost(6.0)), true),
    spec(M::EchoCpu, "echo_1mb_cpu_ms", "1 MB CPU ms", None, true),
    spec(M::RssEcho, "rss_echo_mb", "RSS 1 MB MB", None, false),
    spec(M::Exit, "exit_ms", "exit ms", Some(AtMost(5.0)), false),
];

const fn spec(
    metric: Metric,
    key: &'static str,
    title: &'static str,
    target: Option<Target>,
    compared: bool,
) -> Spec {
    Spec { metric, key, title, target, compared }
}

impl Target {
    pub(crate) fn holds(self, value: f64) -> bool {
        match self {
            AtMost(limit) => value <= limit,
            AtLeast(limit) => value >= limit,
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AtMost(limit) => write!(formatter, "≤ {limit}"),
            AtLeast(limit) => write!(formatter, "≥ {limit}"),
        }
    }
}

/// The figures of one subject in one revision in one round. One that could not be taken is absent.
#[derive(Default)]
pub(crate) struct Figures(pub(crate) BTreeMap<Metric, f64>);

impl Figures {
    pub(crate) fn set(&mut self, metric: Metric, value: Option<f64>) {
        if let Some(value) = value {
            self.0.insert(metric, value);
        }
    }
}
