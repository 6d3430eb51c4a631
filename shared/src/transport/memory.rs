//! Two ends in one process, for tests: what one writes, the other reads.

use tokio::io::{DuplexStream, ReadHalf, WriteHalf};

use super::Transport;
use super::lines::Lines;

/// Bytes each direction holds before the writer has to wait, like a pipe.
const CAPACITY_BYTES: usize = 64 * 1024;

type Half = Lines<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

/// A connected pair of transports.
pub fn pair() -> (impl Transport + 'static, impl Transport + 'static) {
    let (left, right) = tokio::io::duplex(CAPACITY_BYTES);
    (half(left), half(right))
}

fn half(stream: DuplexStream) -> Half {
    let (reader, writer) = tokio::io::split(stream);
    Lines::new(reader, writer)
}
