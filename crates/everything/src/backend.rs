//! What there is to show: a picture, a sound, a counter that others can watch. Knows no MCP.

use std::sync::atomic::{AtomicU64, Ordering};

/// One red pixel.
pub(crate) const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 12, b'I', b'D', b'A', b'T', 8,
    0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, b'I', b'E',
    b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// A wave file of eight silent samples at 8 kHz.
pub(crate) const WAV: &[u8] = &[
    b'R', b'I', b'F', b'F', 44, 0, 0, 0, b'W', b'A', b'V', b'E', b'f', b'm', b't', b' ', 16, 0, 0,
    0, 1, 0, 1, 0, 0x40, 0x1f, 0, 0, 0x40, 0x1f, 0, 0, 1, 0, 8, 0, b'd', b'a', b't', b'a', 8, 0, 0,
    0, 128, 128, 128, 128, 128, 128, 128, 128,
];

/// How often the watched resource has been touched.
#[derive(Debug, Default)]
pub(crate) struct Backend {
    touches: AtomicU64,
}

impl Backend {
    pub(crate) fn touch(&self) -> u64 {
        self.touches.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn touches(&self) -> u64 {
        self.touches.load(Ordering::Relaxed)
    }
}
