//! Sealing small values that travel through the client and come back: encrypted and
//! authenticated, so a client can neither read nor change them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orion::hazardous::aead::xchacha20poly1305::{Nonce, SecretKey, XChaCha20Poly1305};

const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;

/// The key of one process.
pub(crate) struct Seal {
    /// `None` where the system gives no random numbers: nothing is sealed then, and nothing opens.
    key: Option<SecretKey>,
}

impl Seal {
    /// A fresh random key: what it sealed is worthless to any other process.
    pub(crate) fn random() -> Self {
        Self {
            key: SecretKey::generate().ok(),
        }
    }

    /// `purpose` keeps values of one kind from being accepted as another.
    pub(crate) fn seal(&self, purpose: &str, plain: &[u8]) -> Option<String> {
        let nonce = Nonce::generate().ok()?;
        let mut sealed = vec![0; plain.len() + TAG_BYTES];
        XChaCha20Poly1305::seal(
            self.key.as_ref()?,
            &nonce,
            plain,
            Some(purpose.as_bytes()),
            &mut sealed,
        )
        .ok()?;
        Some(URL_SAFE_NO_PAD.encode([nonce.as_ref(), sealed.as_slice()].concat()))
    }

    /// `None` for anything we did not seal for this purpose.
    pub(crate) fn open(&self, purpose: &str, text: &str) -> Option<Vec<u8>> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_BYTES)?;
        let nonce = Nonce::try_from(nonce).ok()?;
        let mut plain = vec![0; sealed.len().checked_sub(TAG_BYTES)?];
        XChaCha20Poly1305::open(
            self.key.as_ref()?,
            &nonce,
            sealed,
            Some(purpose.as_bytes()),
            &mut plain,
        )
        .ok()?;
        Some(plain)
    }
}
