//! Sealing small values that travel through the client and come back: encrypted and
//! authenticated, so a client can neither read nor change them.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use orion::hazardous::aead::xchacha20poly1305::{Nonce, SecretKey, XChaCha20Poly1305};

const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;

const KEY_BYTES: usize = 32;

/// The first key seals, each of them opens. Empty where the system gives no random numbers:
/// nothing is sealed then, and nothing opens.
pub(crate) struct Seal {
    keys: Vec<SecretKey>,
}

impl Seal {
    /// A fresh random key: what it sealed is worthless to any other process.
    pub(crate) fn random() -> Self {
        Self { keys: SecretKey::generate().into_iter().collect() }
    }

    /// The keys of a file: one a line, 32 bytes in base64. Replicas that share it can open what
    /// the others sealed; a new key goes first, and old ones stay while their values are out.
    pub(crate) fn from_key_file(text: &str) -> anyhow::Result<Self> {
        let lines =
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let keys = lines.enumerate().map(|(index, line)| {
            let bytes = STANDARD.decode(line).unwrap_or_default();
            // The line itself is a secret and stays out of the error.
            anyhow::ensure!(
                bytes.len() == KEY_BYTES,
                "key {} is not {KEY_BYTES} bytes in base64",
                index + 1
            );
            Ok(SecretKey::try_from(bytes.as_slice())?)
        });
        let keys = keys.collect::<anyhow::Result<Vec<_>>>()?;
        anyhow::ensure!(!keys.is_empty(), "there is no key in it");
        Ok(Self { keys })
    }

    /// `purpose` keeps values of one kind from being accepted as another.
    pub(crate) fn seal(&self, purpose: &str, plain: &[u8]) -> Option<String> {
        let nonce = Nonce::generate().ok()?;
        let mut sealed = vec![0; plain.len() + TAG_BYTES];
        let aad = Some(purpose.as_bytes());
        XChaCha20Poly1305::seal(self.keys.first()?, &nonce, plain, aad, &mut sealed).ok()?;
        Some(URL_SAFE_NO_PAD.encode([nonce.as_ref(), sealed.as_slice()].concat()))
    }

    /// `None` for anything we did not seal for this purpose.
    pub(crate) fn open(&self, purpose: &str, text: &str) -> Option<Vec<u8>> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_BYTES)?;
        let nonce = Nonce::try_from(nonce).ok()?;
        let mut plain = vec![0; sealed.len().checked_sub(TAG_BYTES)?];
        let aad = Some(purpose.as_bytes());
        let mut keys = self.keys.iter();
        keys.find(|key| XChaCha20Poly1305::open(key, &nonce, sealed, aad, &mut plain).is_ok())?;
        Some(plain)
    }
}

/// A short fingerprint that nobody can find a second text for (BLAKE2b, 128 bits).
pub(crate) fn digest(bytes: &[u8]) -> String {
    let digest = orion::hash::digest(bytes);
    let digest = digest.as_ref().map(AsRef::as_ref).unwrap_or_default();
    URL_SAFE_NO_PAD.encode(digest.get(..16).unwrap_or(digest))
}

/// A text nobody can guess; `None` where the system gives no random numbers.
pub(crate) fn random_token() -> Option<String> {
    let mut bytes = [0; 16];
    orion::util::secure_rand_bytes(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}
