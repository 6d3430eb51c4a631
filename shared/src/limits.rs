//! How much of everything one peer may use. Each has a flag and a safe default.

use std::time::Duration;

/// Limits for one server; each is also a flag of [`crate::main`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long a call may run, not counting the time it waits for answers of the client.
    pub call_timeout: Duration,
    /// How long the client may take to answer a question.
    pub ask_timeout: Duration,
    /// How long calls may go on once the peer has closed, or once we are told to stop.
    pub drain: Duration,
    /// Longest message accepted.
    pub max_message_bytes: usize,
    /// Deepest nesting of lists and objects in a message, itself included; 128 at most.
    pub max_depth: usize,
    /// Calls waiting at the same time; one more is refused.
    pub max_in_flight: usize,
    /// Resources a session or a listen stream may subscribe to, and listen streams.
    pub max_subscriptions: usize,
    /// How long a task may run and its result is kept, at most.
    pub task_ttl: Duration,
    /// Tasks kept; one more takes the place of the oldest that is over.
    pub max_tasks: usize,
    /// Requests a second that reach a handler; `None`: as many as come.
    pub calls_per_second: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            call_timeout: Duration::from_secs(60),
            ask_timeout: Duration::from_secs(600),
            drain: Duration::from_secs(5),
            max_message_bytes: 16 * 1024 * 1024,
            max_depth: 128,
            max_in_flight: 16_384,
            max_subscriptions: 1_024,
            task_ttl: Duration::from_secs(3_600),
            max_tasks: 1_000,
            calls_per_second: None,
        }
    }
}
