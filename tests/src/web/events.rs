//! Server-sent events, read as they come.

/// One event, blank line to blank line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// What `event:` names; without one it is a `message`.
    pub name: Option<String>,
    pub id: Option<String>,
    pub retry_ms: Option<u64>,
    /// `None` where there was no `data:` at all.
    pub data: Option<String>,
}

/// Puts events together from the pieces in which they arrive.
#[derive(Debug, Default)]
pub struct Parser {
    bytes: Vec<u8>,
    event: Event,
    begun: bool,
}

impl Parser {
    /// Takes a piece and gives the events that are complete with it.
    pub fn feed(&mut self, piece: &[u8]) -> Vec<Event> {
        self.bytes.extend_from_slice(piece);
        let mut events = Vec::new();
        let mut start = 0;
        while let Some(length) = memchr(self.bytes.get(start..).unwrap_or_default()) {
            let line = self.bytes.get(start..start + length).unwrap_or_default();
            let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
            start += length + 1;
            if line.is_empty() {
                if std::mem::take(&mut self.begun) {
                    events.push(std::mem::take(&mut self.event));
                }
            } else {
                self.begun |= self.event.take(&line);
            }
        }
        self.bytes.drain(..start);
        events
    }
}

impl Event {
    /// Takes one line; `false` for a comment.
    fn take(&mut self, line: &str) -> bool {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" => return false,
            "event" => self.name = Some(value.to_owned()),
            "id" => self.id = Some(value.to_owned()),
            "retry" => self.retry_ms = value.parse().ok(),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            _ => {}
        }
        true
    }
}

fn memchr(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_from_any_pieces() {
        let text = ":hello\n\nid: 1\nretry: 5\ndata: \n\nevent: message\r\ndata: {\r\ndata:}\r\n\r\ndata: x";
        let named =
            Event { name: Some("message".into()), data: Some("{\n}".into()), ..Event::default() };
        let primed = Event {
            id: Some("1".into()),
            retry_ms: Some(5),
            data: Some("".into()),
            ..Event::default()
        };
        for size in [1, 2, 7, 1000] {
            let mut parser = Parser::default();
            let events: Vec<_> =
                text.as_bytes().chunks(size).flat_map(|piece| parser.feed(piece)).collect();
            assert_eq!(events, [primed.clone(), named.clone()], "{size}");
        }
    }
}
