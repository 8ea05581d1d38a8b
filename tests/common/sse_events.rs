//! Reads streams of server-sent events, with the decoder and with a simple reader to compare with.

use portway::codec::sse::{Decoder, Event};

/// An event that outlives its decoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owned {
    /// The name and the data.
    Message(String, String),
    /// The beginning of the data.
    TooLarge(String),
}

/// Reads the pieces of a stream. Returns the events.
pub fn read_pieces<'p>(decoder: &mut Decoder, pieces: impl IntoIterator<Item = &'p [u8]>) -> Vec<Owned> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut events = Vec::new();
    for mut piece in pieces {
        while let Some(event) = decoder.next(&mut piece) {
            events.push(match event {
                Event::Message { name, data } => Owned::Message(name.to_owned(), text(data)),
                Event::TooLarge { beginning } => Owned::TooLarge(text(beginning)),
            });
        }
        assert!(piece.is_empty());
    }
    events
}

/// Reads a whole stream as the standard describes, without limits. Returns the events and the last id.
pub fn read_simply(stream: &[u8]) -> (Vec<Owned>, String) {
    let stream = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    let text = String::from_utf8_lossy(stream).replace("\r\n", "\n").replace('\r', "\n");
    let (mut events, mut id, mut last_id) = (Vec::new(), String::new(), String::new());
    let (mut name, mut data) = (String::new(), None::<Vec<&str>>);
    // The last piece is a line without its end.
    let complete = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
    for line in complete.split('\n').take(if text.contains('\n') { usize::MAX } else { 0 }) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" if line.is_empty() => {
                last_id.clone_from(&id);
                let event_name = std::mem::take(&mut name);
                if let Some(lines) = data.take() {
                    let event_name = if event_name.is_empty() { "message".to_owned() } else { event_name };
                    events.push(Owned::Message(event_name, lines.join("\n")));
                }
            }
            "data" => data.get_or_insert_default().push(value),
            "event" => value.clone_into(&mut name),
            "id" if !value.contains('\0') => value.clone_into(&mut id),
            _ => {}
        }
    }
    (events, last_id)
}
