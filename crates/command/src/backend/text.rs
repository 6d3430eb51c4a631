//! Bytes a program printed, as text a model can be shown: no control sequence acts on a terminal,
//! nothing is hidden by the direction of text or by characters without a width, and known secrets
//! are masked. Everything taken out is counted.

use serde::Serialize;
use vte::{Params, Parser, Perform};

/// What was made harmless.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub(crate) struct Cleaned {
    /// Terminal sequences removed.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) ansi: u64,
    /// Control characters shown as `\x..`.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) control: u64,
    /// Characters that turn, hide or tag text, shown as `\u{..}`.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) invisible: u64,
    /// U+FFFD: bytes that are not UTF-8.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) not_utf8: u64,
    /// Secrets of this server, shown as `[masked]`.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    pub(crate) secrets: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde asks for")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Cleaned {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            ansi: self.ansi + other.ansi,
            control: self.control + other.control,
            invisible: self.invisible + other.invisible,
            not_utf8: self.not_utf8 + other.not_utf8,
            secrets: self.secrets + other.secrets,
        }
    }
}

/// Values that must never be shown.
#[derive(Debug, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    const MASK: &str = "[masked]";
    /// Anything shorter would be found by chance.
    const MIN_BYTES: usize = 8;
    const NAMES: [&str; 7] =
        ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "API_KEY", "PRIVATE_KEY"];

    /// Values of variables whose names say that they are secret.
    pub(crate) fn of(environment: impl Iterator<Item = (String, String)>) -> Self {
        let is_secret = |name: &str| {
            let name = name.to_ascii_uppercase();
            Self::NAMES.iter().any(|part| name.contains(part))
        };
        let values = environment
            .filter(|(name, value)| is_secret(name) && value.len() >= Self::MIN_BYTES)
            .map(|(_, value)| value);
        Self(values.collect())
    }

    fn mask(&self, text: String) -> (String, u64) {
        let mut masked = (text, 0);
        for secret in &self.0 {
            let found = masked.0.matches(secret.as_str()).count() as u64;
            if found > 0 {
                masked = (masked.0.replace(secret.as_str(), Self::MASK), masked.1 + found);
            }
        }
        masked
    }
}

/// The text of `bytes`, and what was done to it.
pub(crate) fn clean(bytes: &[u8], secrets: &Secrets) -> (String, Cleaned) {
    let mut cleaner = Cleaner::default();
    Parser::new().advance(&mut cleaner, bytes);
    if let Some(cut) = cut_character(bytes) {
        cleaner.print_text(cut);
    }
    let (text, secrets) = secrets.mask(cleaner.text);
    (text, Cleaned { secrets, ..cleaner.cleaned })
}

/// The parser waits for the rest of a character at the end, which will not come.
fn cut_character(bytes: &[u8]) -> Option<char> {
    let error = std::str::from_utf8(bytes.get(bytes.len().saturating_sub(3)..)?).err()?;
    error.error_len().is_none().then_some(char::REPLACEMENT_CHARACTER)
}

#[derive(Default)]
struct Cleaner {
    text: String,
    cleaned: Cleaned,
}

impl Cleaner {
    fn print_text(&mut self, letter: char) {
        if letter == char::REPLACEMENT_CHARACTER {
            self.cleaned.not_utf8 += 1;
        }
        if is_invisible(letter) {
            self.cleaned.invisible += 1;
            self.text.extend(letter.escape_unicode());
        } else {
            self.text.push(letter);
        }
    }
}

impl Perform for Cleaner {
    fn print(&mut self, letter: char) {
        if letter == '\x7f' { self.execute(0x7f) } else { self.print_text(letter) }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' => {
                // A carriage return before it is the other half of a line break.
                if self.text.ends_with("\\x0d") {
                    self.text.truncate(self.text.len() - 4);
                    self.cleaned.control = self.cleaned.control.saturating_sub(1);
                }
                self.text.push('\n');
            }
            b'\t' => self.text.push('\t'),
            _ => {
                self.cleaned.control += 1;
                self.text.push_str(&format!("\\x{byte:02x}"));
            }
        }
    }

    fn hook(&mut self, _: &Params, _: &[u8], _: bool, _: char) {
        self.cleaned.ansi += 1;
    }

    fn osc_dispatch(&mut self, _: &[&[u8]], _: bool) {
        self.cleaned.ansi += 1;
    }

    fn csi_dispatch(&mut self, _: &Params, _: &[u8], _: bool, _: char) {
        self.cleaned.ansi += 1;
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, byte: u8) {
        // The end of a sequence that is counted already.
        if byte != b'\\' {
            self.cleaned.ansi += 1;
        }
    }
}

/// Directions, joiners and spaces without a width, variation selectors beyond those of emoji,
/// language tags, and separators that are line breaks to some readers.
fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
