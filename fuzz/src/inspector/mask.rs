//! Fuzzes the masks of secrets.

use portway_inspector::mask::{MASK, SecretNames, mask as masked, spans, utf16_spans};
use serde_json::Value;

/// A string in an array is a secret if it begins with this text.
const SECRET_PREFIX: &str = "token:";

/// Masks the text, and checks the result. If the text is JSON, compares the result with a mask of its parsed value.
pub fn mask(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let names = SecretNames::new(["*key", "PIN", "a*b*c"]);
    let found = spans(text, &names);
    check_spans(text, &names);
    let result = masked(text, &names);
    assert_eq!(masked(&result, &names), result, "a mask of the result changes it");
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    if !text.trim_start().starts_with(['{', '[']) {
        return;
    }
    // A repeated member is masked each time. The parsed value has only its last value.
    let expected = masked_value(value, &names);
    let parsed = serde_json::from_str::<Value>(&result);
    assert_eq!(parsed.ok(), Some(expected), "{text}: {result}");
    // Each secret is also masked if the end of the text is missing.
    for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
        let cut = text.get(..end).unwrap();
        let of_cut = spans(cut, &names);
        for span in found.iter().filter(|span| is_known(text, span.start, end)) {
            let is_masked = of_cut.iter().any(|other| other.start == span.start && other.end >= span.end.min(end));
            assert!(is_masked, "{span:?} is not masked in {cut}");
        }
    }
}

/// Returns whether the text before `end` shows that the value at `start` is a secret. This text must contain the first
/// byte of the value. For a string in an array, this text must also contain the prefix [`SECRET_PREFIX`].
fn is_known(text: &str, start: usize, end: usize) -> bool {
    let Some(begin) = text.get(start..end).filter(|begin| !begin.is_empty()) else { return false };
    let before = text.get(..start).unwrap_or_default().trim_end();
    // A secret that is the value of a member follows a colon. Any other secret is checked only if the text contains its
    // prefix.
    if before.ends_with(':') {
        return true;
    }
    let json = format!("{begin}\"");
    serde_json::from_str::<String>(&json).is_ok_and(|string| string.starts_with(SECRET_PREFIX))
}

/// Checks the spans of any text: their order, and their positions in UTF-16.
fn check_spans(text: &str, names: &SecretNames) {
    let found = spans(text, names);
    let mut from = 0;
    let mut rest = String::new();
    for span in &found {
        assert!(from <= span.start && span.start < span.end, "{found:?}");
        rest.push_str(text.get(from..span.start).expect("a span must begin at a character"));
        rest.push_str(MASK);
        from = span.end;
    }
    rest.push_str(text.get(from..).expect("a span must end at a character"));
    assert_eq!(masked(text, names), rest);
    let units: Vec<u16> = text.encode_utf16().collect();
    let in_utf16 = utf16_spans(text, &found);
    assert_eq!(in_utf16.len(), 2 * found.len());
    for (pair, span) in in_utf16.chunks(2).zip(&found) {
        let part = String::from_utf16(&units[pair[0] as usize..pair[1] as usize]);
        assert_eq!(part.as_deref().ok(), text.get(span.clone()));
    }
}

/// Returns the value with its secrets replaced.
fn masked_value(value: Value, names: &SecretNames) -> Value {
    match value {
        Value::Object(members) => {
            let member = |(name, value): (String, Value)| {
                let value = if names.has(&name) && !value.is_null() {
                    secret()
                } else if name == "entries" {
                    masked_entries(value, names)
                } else {
                    masked_value(value, names)
                };
                (name, value)
            };
            Value::Object(members.into_iter().map(member).collect())
        }
        Value::Array(elements) => {
            Value::Array(elements.into_iter().map(|element| masked_element(element, names)).collect())
        }
        other => other,
    }
}

fn masked_element(element: Value, names: &SecretNames) -> Value {
    match element {
        Value::String(text) if text.starts_with(SECRET_PREFIX) => secret(),
        other => masked_value(other, names),
    }
}

/// Returns the member `entries` of a described `Map` with its secrets replaced. Its elements are pairs of a name and a
/// value.
fn masked_entries(entries: Value, names: &SecretNames) -> Value {
    let Value::Array(pairs) = entries else { return masked_value(entries, names) };
    let pair = |pair: Value| {
        let Value::Array(elements) = pair else { return masked_element(pair, names) };
        let has_secret = elements.first().and_then(Value::as_str).is_some_and(|name| names.has(name));
        let element = |(index, element): (usize, Value)| {
            let is_secret = has_secret && index == 1 && !element.is_null();
            if is_secret { secret() } else { masked_element(element, names) }
        };
        Value::Array(elements.into_iter().enumerate().map(element).collect())
    };
    Value::Array(pairs.into_iter().map(pair).collect())
}

fn secret() -> Value {
    serde_json::from_str(MASK).unwrap()
}
