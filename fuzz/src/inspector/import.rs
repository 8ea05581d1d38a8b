//! Fuzzes the reading of files with recorded messages.

use portway_inspector::import::{Format, Imported, import as imported};
use portway_inspector::inspector::{Inspector, Options};
use portway_inspector::limits::MAX_IMPORT_PROBLEMS;
use portway_inspector::record::{Direction, Record, RecordKind};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The members of a record that the inspector needs. Members that are not listed here may have any value.
#[derive(Deserialize)]
struct Members<'t> {
    kind: RecordKind,
    at: u64,
    link: String,
    #[serde(default)]
    direction: Option<Direction>,
    #[serde(borrow, default)]
    text: Option<&'t RawValue>,
}

/// Reads the bytes as a file. The inspector must accept each record of the result.
pub fn import(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let result = imported(text);
    check(text, &result);
    // A file that consists of these records is read without a change.
    if !result.lines.is_empty() {
        let again = imported(&result.lines);
        assert_eq!((again.format, again.problems.as_slice()), (Format::Records, [].as_slice()), "{}", result.lines);
        assert_eq!(again.lines, result.lines);
        let array = format!("[\n{}\n]\n", result.lines.trim_end().replace('\n', ",\n"));
        assert_eq!(imported(&array).lines, result.lines, "an exported array differs from its lines");
    }
    // The size of the result is in proportion to the size of the file.
    assert!(result.lines.len() <= 2_000 + 250 * text.len(), "{} bytes", result.lines.len());
}

fn check(text: &str, result: &Imported) {
    let mut inspector = Inspector::new(Options::default());
    for line in result.lines.lines() {
        let Ok(members) = serde_json::from_str::<Members<'_>>(line) else {
            // serde_json rejects repeated members, and the ids of links with a lone surrogate.
            assert_eq!(result.format, Format::Records, "{line}");
            continue;
        };
        let string: Option<String> = members.text.and_then(|text| serde_json::from_str(text.get()).ok());
        let has_lone_surrogate = members.text.is_some_and(|text| text.get().starts_with('"')) && string.is_none();
        let text = if has_lone_surrogate { Some("?") } else { string.as_deref() };
        let record = Record {
            direction: members.direction,
            text,
            text_bytes: text.map_or(0, str::len),
            ..Record::new(members.kind, members.at, &members.link)
        };
        assert_eq!(inspector.take(&record).err(), None, "{line}");
    }
    assert!(result.problems.len() <= MAX_IMPORT_PROBLEMS);
    for problem in &result.problems {
        assert!(problem.line >= 1 && (result.format == Format::Har || problem.line <= text.lines().count()));
    }
    match result.format {
        Format::Unknown => assert!(result.lines.is_empty()),
        Format::Records => assert!(result.notes.is_empty() && !result.lines.is_empty()),
        Format::LspDevtools => assert!(!result.lines.is_empty()),
        Format::Har => {}
    }
}
