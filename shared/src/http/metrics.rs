//! Counters for `/metrics`, in the text format Prometheus reads.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(super) struct Metrics {
    pub(super) connections: Gauge,
    pub(super) streams: Gauge,
    /// By the first digit of the status: 2xx, 4xx, 5xx.
    responses: [AtomicU64; 3],
}

/// How many there are, and have ever been.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Gauge {
    pub(super) fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    fn read(&self) -> (u64, u64) {
        let ended = self.ended.load(Ordering::Relaxed);
        let begun = self.begun.load(Ordering::Relaxed);
        (begun.saturating_sub(ended), begun)
    }
}

impl Metrics {
    pub(super) fn answered(&self, status: u16) {
        let [fine, refused, failed] = &self.responses;
        let counter = match status {
            ..=399 => fine,
            400..=499 => refused,
            500.. => failed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn text(&self, sessions: usize, in_flight: usize) -> String {
        let (connections, connections_total) = self.connections.read();
        let (streams, streams_total) = self.streams.read();
        let mut text = String::new();
        let mut line = |name: &str, kind: &str, labels: &str, value: u64| {
            if labels.is_empty() || labels.contains("2xx") {
                let _ = writeln!(text, "# TYPE {name} {kind}");
            }
            let _ = writeln!(text, "{name}{labels} {value}");
        };
        line("mcp_connections", "gauge", "", connections);
        line("mcp_connections_total", "counter", "", connections_total);
        line("mcp_event_streams", "gauge", "", streams);
        line("mcp_event_streams_total", "counter", "", streams_total);
        line("mcp_sessions", "gauge", "", sessions as u64);
        line("mcp_requests_in_flight", "gauge", "", in_flight as u64);
        for (class, counter) in ["2xx", "4xx", "5xx"].into_iter().zip(&self.responses) {
            let labels = format!("{{status=\"{class}\"}}");
            line("mcp_http_responses_total", "counter", &labels, counter.load(Ordering::Relaxed));
        }
        text
    }
}
