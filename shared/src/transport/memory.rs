//! Two ends in one process, for tests: what one writes, the other reads.

use tokio::io::duplex;

use super::Transport;
use super::lines::lines;

/// Bytes each direction holds before the writer has to wait, like a pipe.
const CAPACITY_BYTES: usize = 64 * 1024;

/// A connected pair of transports. Dropping one's writer ends what the other reads.
pub fn pair() -> (impl Transport + 'static, impl Transport + 'static) {
    // One stream for each direction, so that each can be closed by itself.
    let (left_writer, right_reader) = duplex(CAPACITY_BYTES);
    let (right_writer, left_reader) = duplex(CAPACITY_BYTES);
    (lines(left_reader, left_writer), lines(right_reader, right_writer))
}
