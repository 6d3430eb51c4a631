//! Text that came from strangers, and text on its way to them. Nothing visible is ever removed:
//! `Promise<string>` and `<id>` are what people write in issues.

/// What a reader cannot see but a model can, taken out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    /// How many characters were taken out.
    pub(crate) hidden_chars: usize,
}

/// Removes invisible, bidirectional and tag characters. Joiners stay: emoji and several scripts
/// need them.
pub(crate) fn show(text: &str) -> Shown {
    let mut hidden_chars = 0;
    let mut previous = ' ';
    let text = text
        .chars()
        .filter(|&letter| {
            let hidden = is_hidden(letter) || (is_selector(letter) && is_selector(previous));
            previous = letter;
            hidden_chars += usize::from(hidden);
            !hidden
        })
        .collect();
    Shown { text, hidden_chars }
}

fn is_hidden(letter: char) -> bool {
    matches!(letter,
        '\u{00AD}' | '\u{061C}' | '\u{180E}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{FEFF}'
        | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}'
        | '\u{E0000}'..='\u{E007F}')
        || (letter.is_control() && !matches!(letter, '\n' | '\r' | '\t'))
}

/// One after a letter chooses its shape; a run of them carries data.
fn is_selector(letter: char) -> bool {
    matches!(letter, '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

/// One line without hidden characters, at most `max_chars` long: titles and names in rows.
pub(crate) fn line(text: &str, max_chars: usize) -> String {
    excerpt(&show(text).text.split_whitespace().collect::<Vec<_>>().join(" "), max_chars)
}

/// The beginning, with `…` where something was cut.
pub(crate) fn excerpt(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some((end, _)) => text.split_at(end).0.to_owned() + "…",
    }
}

/// Tells two texts apart by 16 hexadecimal digits; not meant against somebody who wants two alike.
pub(crate) fn fingerprint(text: &str) -> String {
    let mut hasher = std::hash::DefaultHasher::new();
    std::hash::Hasher::write(&mut hasher, text.as_bytes());
    format!("{:016x}", std::hash::Hasher::finish(&hasher))
}

/// How secrets begin, how long they are at least, and what to call them.
const SECRETS: &[(&str, usize, &str)] = &[
    ("github_pat_", 22, "a GitHub token"),
    ("ghp_", 36, "a GitHub token"),
    ("gho_", 36, "a GitHub token"),
    ("ghu_", 36, "a GitHub token"),
    ("ghs_", 36, "a GitHub token"),
    ("ghr_", 36, "a GitHub token"),
    ("glpat-", 20, "a GitLab token"),
    ("AKIA", 16, "an AWS access key"),
    ("ASIA", 16, "an AWS access key"),
    ("xoxb-", 20, "a Slack token"),
    ("xoxp-", 20, "a Slack token"),
    ("sk-ant-", 20, "an Anthropic key"),
    ("sk-proj-", 20, "an OpenAI key"),
    ("AIza", 35, "a Google API key"),
    ("npm_", 36, "an npm token"),
];

/// What kind of secret the text holds, if any. Issues are public, and stay in mails and archives.
pub(crate) fn find_secret(text: &str) -> Option<&'static str> {
    if text.split("-----BEGIN ").skip(1).any(|rest| {
        rest.lines().next().is_some_and(|line| line.trim_end().ends_with("PRIVATE KEY-----"))
    }) {
        return Some("a private key");
    }
    secrets(text).next().map(|(_, _, kind)| kind)
}

/// The text with every secret replaced; for errors and logs.
pub(crate) fn redact(text: &str) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut done = 0;
    for (start, end, _) in secrets(text) {
        redacted.push_str(text.get(done..start).unwrap_or_default());
        redacted.push_str("[redacted]");
        done = end;
    }
    redacted + text.get(done..).unwrap_or_default()
}

/// Where secrets begin and end, in order.
fn secrets(text: &str) -> impl Iterator<Item = (usize, usize, &'static str)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(from..)?;
            let found = SECRETS.iter().filter_map(|secret| Some((rest.find(secret.0)?, secret)));
            let (at, (prefix, min_length, kind)) = found.min_by_key(|(at, _)| *at)?;
            let start = from + at;
            let after = start + prefix.len();
            let length = text.get(after..)?.bytes().take_while(|b| is_token_byte(*b)).count();
            from = after + length;
            let is_word = !text.get(..start)?.bytes().next_back().is_some_and(is_token_byte);
            if length >= *min_length && is_word {
                return Some((start, from, *kind));
            }
        }
    })
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_nobody_sees_is_removed() {
        for (text, shown, hidden) in [
            ("Returns Promise<string>; `<id>` <script>x</script>", None, 0),
            ("a\u{200B}b\u{202E}c\u{2066}d\u{FEFF}", Some("abcd"), 4),
            ("x\u{E0041}\u{E0042}\u{E007F}", Some("x"), 3),
            ("❤\u{FE0F} 1\u{FE0F}\u{20E3} 葛\u{E0100}", None, 0),
            ("a\u{FE0F}\u{FE01}\u{FE02}", Some("a\u{FE0F}"), 2),
            ("👩\u{200D}💻 नि\u{200C}", None, 0),
            ("tab\tline\r\nend", None, 0),
            ("bell\u{7}esc\u{1b}[31m", Some("bellesc[31m"), 2),
            ("<!-- hidden comment -->", None, 0),
        ] {
            let got = show(text);
            assert_eq!((got.text.as_str(), got.hidden_chars), (shown.unwrap_or(text), hidden));
        }
    }

    #[test]
    fn secrets_are_found_and_other_words_are_not() {
        let letters = "a1".repeat(40);
        for (text, kind) in [
            (format!("token: ghp_{}", &letters[..36]), Some("a GitHub token")),
            (format!("github_pat_{}", &letters[..40]), Some("a GitHub token")),
            ("AKIAIOSFODNN7EXAMPLE".to_owned(), Some("an AWS access key")),
            ("-----BEGIN RSA PRIVATE KEY-----\nMII".to_owned(), Some("a private key")),
            ("-----BEGIN CERTIFICATE-----".to_owned(), None),
            ("the ghp_ prefix, ghp_short".to_owned(), None),
            (format!("xghp_{}", &letters[..36]), None),
            ("plain".to_owned(), None),
        ] {
            assert_eq!(find_secret(&text), kind, "{text}");
        }
        let text = format!("é ghp_short and ghp_{}, ok", &letters[..36]);
        assert_eq!(redact(&text), "é ghp_short and [redacted], ok");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_panics_and_visible_text_stays(text in "\\PC*") {
            redact(&text);
            find_secret(&text);
            let shown = show(&text);
            prop_assert_eq!(shown.text.chars().count() + shown.hidden_chars, text.chars().count());
            let ascii: String = text.chars().filter(char::is_ascii_graphic).collect();
            let kept: String = shown.text.chars().filter(char::is_ascii_graphic).collect();
            prop_assert_eq!(ascii, kept);
        }
    }
}
