//! Scanner for JSON text (RFC 8259). It checks the grammar and locates the values. It also reports defects: values that
//! the grammar allows, but that this library refuses.
//!
//! The scanner is not recursive. Accepted text is JSON, so other code does not check the text again.

use alloc::vec::Vec;

use super::envelope::MAX_SAFE_DIGITS;

/// The reason to refuse a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defect {
    /// Arrays and objects are nested deeper than the limit.
    TooDeep,
    /// A string has a lone surrogate, so it is not Unicode text.
    LoneSurrogate,
    /// A number is too large for a double.
    NumberOutOfRange,
}

/// Reads a text from its beginning to its end. A method that reads the text returns `None` if the text is not JSON.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    rest: &'a [u8],
    /// The number of arrays and objects that enclose the current value.
    depth: usize,
    depth_limit: usize,
    defect: Option<Defect>,
}

impl<'a> Scanner<'a> {
    pub(super) const fn new(text: &'a str, depth_limit: usize) -> Self {
        Self { text, rest: text.as_bytes(), depth: 0, depth_limit, defect: None }
    }

    /// Skips whitespace, and returns the next byte without skipping it. Returns `None` at the end of the text.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.rest = skip_whitespace(self.rest);
        self.rest.first().copied()
    }

    /// Returns whether only whitespace remains.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// Returns the first defect since the previous call of this method.
    pub(super) const fn take_defect(&mut self) -> Option<Defect> {
        self.defect.take()
    }

    /// Skips the beginning of an object, which must be exactly `text`. Afterwards, the scanner is within the object.
    #[inline]
    pub(super) fn begin(&mut self, text: &str) -> Option<()> {
        self.skip_text(text)?;
        self.depth += 1;
        self.check_depth(self.depth);
        Some(())
    }

    /// Skips exactly `text`, without whitespace before it.
    #[inline]
    pub(super) fn skip_text(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text.as_bytes())?;
        Some(())
    }

    /// Skips an integer that is not negative and has at most [`MAX_SAFE_DIGITS`] digits, and returns it.
    #[inline]
    pub(super) fn short_integer(&mut self) -> Option<i64> {
        let (mut integer, mut digits) = (0, 0);
        while let [digit @ b'0'..=b'9', tail @ ..] = self.rest {
            // No digit may follow a leading 0 (RFC 8259 §6).
            if digits == MAX_SAFE_DIGITS || (digits > 0 && integer == 0) {
                return None;
            }
            integer = integer * 10 + i64::from(digit - b'0');
            digits += 1;
            self.rest = tail;
        }
        (digits > 0).then_some(integer)
    }

    /// Skips one value, and returns its text.
    #[inline]
    pub(super) fn value(&mut self) -> Option<&'a str> {
        let rest = skip_whitespace(self.rest);
        let start = self.text.len() - rest.len();
        // Most values are strings and numbers, which need no stack of brackets.
        self.rest = match rest {
            [b'"', tail @ ..] => after_string(tail, &mut self.defect)?,
            [b'-' | b'0'..=b'9', ..] => after_number(rest, &mut self.defect)?,
            _ => self.after_nested(rest)?,
        };
        self.text.get(start..self.text.len() - self.rest.len())
    }

    /// Returns the text after a value of any kind.
    fn after_nested(&mut self, mut rest: &'a [u8]) -> Option<&'a [u8]> {
        let mut open = OpenBrackets::default();
        loop {
            rest = match rest {
                [b'"', tail @ ..] => after_string(tail, &mut self.defect)?,
                [b'-' | b'0'..=b'9', ..] => after_number(rest, &mut self.defect)?,
                [b'{', tail @ ..] => {
                    self.enter(&mut open, Kind::Object);
                    match skip_whitespace(tail) {
                        tail @ [b'}', ..] => tail,
                        tail => {
                            rest = after_name(tail, &mut self.defect)?.1;
                            continue;
                        }
                    }
                }
                [b'[', tail @ ..] => {
                    self.enter(&mut open, Kind::Array);
                    match skip_whitespace(tail) {
                        tail @ [b']', ..] => tail,
                        tail => {
                            rest = tail;
                            continue;
                        }
                    }
                }
                [b't', b'r', b'u', b'e', tail @ ..] => tail,
                [b'f', b'a', b'l', b's', b'e', tail @ ..] => tail,
                [b'n', b'u', b'l', b'l', tail @ ..] => tail,
                _ => return None,
            };
            loop {
                let Some(kind) = open.innermost() else { return Some(rest) };
                rest = match (skip_whitespace(rest), kind) {
                    ([b',', tail @ ..], Kind::Object) => {
                        rest = after_name(skip_whitespace(tail), &mut self.defect)?.1;
                        break;
                    }
                    ([b',', tail @ ..], Kind::Array) => {
                        rest = skip_whitespace(tail);
                        break;
                    }
                    ([b'}', tail @ ..], Kind::Object) | ([b']', tail @ ..], Kind::Array) => {
                        open.leave();
                        tail
                    }
                    _ => return None,
                };
            }
        }
    }

    /// Reads an object. Calls `on_member` with each name and its value, both as JSON text. The name includes its quotes
    /// and escapes.
    #[inline]
    pub(super) fn members(&mut self, mut on_member: impl FnMut(&'a str, &'a str)) -> Option<()> {
        self.items(b'{', b'}', |scanner| {
            let from = scanner.text.len() - scanner.rest.len();
            let (name, rest) = after_name(scanner.rest, &mut scanner.defect)?;
            scanner.rest = rest;
            let name = scanner.text.get(from..from + name)?;
            on_member(name, scanner.value()?);
            Some(())
        })
    }

    /// Reads an array. Calls `read` for each element.
    pub(super) fn elements(&mut self, read: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.items(b'[', b']', read)
    }

    /// Reads an array or an object. Calls `read` for each element or member.
    #[inline]
    fn items(&mut self, open: u8, close: u8, mut read: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.skip(open)?;
        self.depth += 1;
        self.check_depth(self.depth);
        if self.peek()? != close {
            read(self)?;
            while self.peek()? == b',' {
                self.skip(b',')?;
                self.peek()?;
                read(self)?;
            }
        }
        self.depth -= 1;
        self.skip(close)
    }

    /// Skips whitespace, and then one byte, which must be `byte`.
    #[inline]
    fn skip(&mut self, byte: u8) -> Option<()> {
        let (first, rest) = skip_whitespace(self.rest).split_first()?;
        self.rest = rest;
        (*first == byte).then_some(())
    }

    fn enter(&mut self, open: &mut OpenBrackets, kind: Kind) {
        open.enter(kind);
        self.check_depth(self.depth + open.depth);
    }

    fn check_depth(&mut self, depth: usize) {
        if depth > self.depth_limit {
            self.defect.get_or_insert(Defect::TooDeep);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Array,
    Object,
}

/// The arrays and objects that are not closed yet, one bit for each.
#[derive(Debug, Default)]
struct OpenBrackets {
    depth: usize,
    /// The bits of the innermost 64 levels. The lowest bit is for the innermost level. A bit is 1 for an object, and 0
    /// for an array.
    bits: u64,
    /// The bits of the outer levels, 64 in each word.
    outer: Vec<u64>,
}

impl OpenBrackets {
    fn enter(&mut self, kind: Kind) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.bits);
        }
        self.bits = self.bits << 1 | u64::from(kind == Kind::Object);
        self.depth += 1;
    }

    fn leave(&mut self) {
        self.bits >>= 1;
        self.depth -= 1;
        if self.depth.is_multiple_of(64) {
            self.bits = self.outer.pop().unwrap_or_default();
        }
    }

    const fn innermost(&self) -> Option<Kind> {
        match (self.depth, self.bits & 1) {
            (0, _) => None,
            (_, 0) => Some(Kind::Array),
            _ => Some(Kind::Object),
        }
    }
}

#[inline]
fn skip_whitespace(mut rest: &[u8]) -> &[u8] {
    while let [b' ' | b'\n' | b'\r' | b'\t', tail @ ..] = rest {
        rest = tail;
    }
    rest
}

/// Skips a name, its colon, and the whitespace after the colon. Returns the length of the name with its quotes, and the
/// text after the whitespace.
#[inline]
fn after_name<'a>(text: &'a [u8], defect: &mut Option<Defect>) -> Option<(usize, &'a [u8])> {
    let [b'"', rest @ ..] = text else { return None };
    let rest = after_string(rest, defect)?;
    let length = text.len() - rest.len();
    match skip_whitespace(rest) {
        [b':', rest @ ..] => Some((length, skip_whitespace(rest))),
        _ => None,
    }
}

/// Returns the text after a string. `rest` begins after the opening quote.
#[inline]
fn after_string<'a>(rest: &'a [u8], defect: &mut Option<Defect>) -> Option<&'a [u8]> {
    match from_special(rest) {
        [b'"', tail @ ..] => Some(tail),
        rest => after_escapes(rest, defect),
    }
}

/// Returns the text after a string. `rest` begins at an escape of the string, or at its closing quote.
fn after_escapes<'a>(mut rest: &'a [u8], defect: &mut Option<Defect>) -> Option<&'a [u8]> {
    loop {
        rest = match rest {
            [b'"', tail @ ..] => return Some(tail),
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', tail @ ..] => tail,
            [b'\\', b'u', a, b, c, d, tail @ ..] => match code_unit([*a, *b, *c, *d])? {
                0xD800..0xDC00 => match tail {
                    [b'\\', b'u', a, b, c, d, tail @ ..] if is_low_surrogate([*a, *b, *c, *d]) => tail,
                    _ => {
                        defect.get_or_insert(Defect::LoneSurrogate);
                        tail
                    }
                },
                0xDC00..0xE000 => {
                    defect.get_or_insert(Defect::LoneSurrogate);
                    tail
                }
                _ => tail,
            },
            _ => return None,
        };
        rest = from_special(rest);
    }
}

/// Returns the rest of the text, from the first quote, backslash or control character on.
#[inline]
fn from_special(mut rest: &[u8]) -> &[u8] {
    while let Some((bytes, tail)) = rest.split_first_chunk() {
        let found = special_bytes(u64::from_le_bytes(*bytes));
        if found != 0 {
            return rest.get((found.trailing_zeros() / 8) as usize..).unwrap_or_default();
        }
        rest = tail;
    }
    let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len());
    rest.get(length..).unwrap_or_default()
}

/// Sets the top bit of each byte that is a quote, a backslash or a control character. The borrow of a subtraction may
/// also set the top bit of later bytes. So only the lowest marked byte is reliable.
#[inline]
#[must_use]
pub const fn special_bytes(bytes: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let quote = bytes ^ (ONES * b'"' as u64);
    let backslash = bytes ^ (ONES * b'\\' as u64);
    let is_control = bytes.wrapping_sub(ONES * 0x20) & !bytes;
    let is_quote = quote.wrapping_sub(ONES) & !quote;
    let is_backslash = backslash.wrapping_sub(ONES) & !backslash;
    (is_control | is_quote | is_backslash) & (ONES << 7)
}

fn is_low_surrogate(digits: [u8; 4]) -> bool {
    code_unit(digits).is_some_and(|unit| (0xDC00..0xE000).contains(&unit))
}

fn code_unit(digits: [u8; 4]) -> Option<u32> {
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
}

/// Returns the text after a number (RFC 8259 §6). `text` begins with the number.
#[inline]
fn after_number<'a>(text: &'a [u8], defect: &mut Option<Defect>) -> Option<&'a [u8]> {
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    let mut rest = match unsigned {
        [b'0', tail @ ..] => tail,
        _ => after_digits(unsigned)?,
    };
    if let [b'.', tail @ ..] = rest {
        rest = after_digits(tail)?;
    }
    let mut has_exponent = false;
    if let [b'e' | b'E', tail @ ..] = rest {
        has_exponent = true;
        let ([b'+' | b'-', digits @ ..] | digits) = tail;
        rest = after_digits(digits)?;
    }
    // The largest double has 309 digits before its point, so a shorter number without an exponent is in range.
    let length = text.len() - rest.len();
    if has_exponent || length >= 309 {
        let number = text.get(..length).and_then(|number| str::from_utf8(number).ok())?;
        if !number.parse().is_ok_and(f64::is_finite) {
            defect.get_or_insert(Defect::NumberOutOfRange);
        }
    }
    Some(rest)
}

/// Returns the rest of `text` after its leading digits, or `None` if `text` does not begin with a digit.
fn after_digits(text: &[u8]) -> Option<&[u8]> {
    let [b'0'..=b'9', rest @ ..] = text else { return None };
    let mut rest = rest;
    while let [b'0'..=b'9', tail @ ..] = rest {
        rest = tail;
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::*;

    /// Returns the first defect, `Ok(None)` without a defect, or `Err` if the text is not JSON.
    fn scan(text: &str, depth_limit: usize) -> Result<Option<Defect>, ()> {
        let mut scanner = Scanner::new(text, depth_limit);
        scanner.value().ok_or(())?;
        if scanner.is_at_end() { Ok(scanner.take_defect()) } else { Err(()) }
    }

    #[test]
    fn arrays_and_objects_may_be_nested_up_to_the_depth_limit() {
        assert_eq!(scan("[[1],{\"a\":[]}]", 3), Ok(None));
        assert_eq!(scan("[[1],{\"a\":[]}]", 2), Ok(Some(Defect::TooDeep)));
        assert_eq!(scan("\"[[[[\"", 0), Ok(None));
        assert_eq!(scan("[\"\\\"[[[\",[]]", 2), Ok(None));
    }

    #[test]
    fn depth_is_not_the_number_of_brackets() {
        assert_eq!(scan(&format!("[{}]", ["[{}]"; 1_000].join(",")), 3), Ok(None));
    }

    #[test]
    fn each_bracket_must_be_closed_by_a_bracket_of_its_kind_at_any_depth() {
        let kinds: Vec<bool> = (0..1_000_u32).map(|level| level.wrapping_mul(0x9E37_79B9) & 1 << 31 == 0).collect();
        let opened: String = kinds.iter().map(|is_object| if *is_object { "{\"\":" } else { "[" }).collect();
        let closing = |wrong: usize| -> String {
            let level = |(level, is_object): (usize, &bool)| if *is_object == (level != wrong) { '}' } else { ']' };
            kinds.iter().enumerate().rev().map(level).collect()
        };
        assert_eq!(scan(&format!("{opened}1{}", closing(usize::MAX)), 1_000), Ok(None));
        for wrong in [0, 1, 62, 63, 64, 65, 127, 128, 129, 999] {
            assert_eq!(scan(&format!("{opened}1{}", closing(wrong)), 1_000), Err(()), "{wrong}");
        }
    }

    #[test]
    fn numbers_beyond_a_double_are_defects() {
        for number in ["1e400", "-1E+400", "[0,1e309]", "123123e100000", &"9".repeat(400)] {
            assert_eq!(scan(number, 9), Ok(Some(Defect::NumberOutOfRange)), "{number}");
        }
        for number in
            ["1e308", "-0", "1e-400", "0e999999999", "[1E+2]", &"9".repeat(308), &format!("0.{}", "9".repeat(400))]
        {
            assert_eq!(scan(number, 9), Ok(None), "{number}");
        }
    }

    #[test]
    fn a_surrogate_without_its_pair_is_a_defect() {
        for text in [r#""\ud83d\ude00""#, r#""\uD83D\uDE00\uD83D\uDE00""#, r#""\\ud800""#, r#""\u0000\uffff""#] {
            assert_eq!(scan(text, 9), Ok(None), "{text}");
        }
        for text in
            [r#""\ud83d""#, r#""\ude00""#, r#""\ud83dx""#, r#""\ud83d\ud83d""#, r#""\ud83d\n""#, r#"{"\ud800":1}"#]
        {
            assert_eq!(scan(text, 9), Ok(Some(Defect::LoneSurrogate)), "{text}");
        }
    }

    #[test]
    fn a_special_byte_is_found_at_any_position() {
        for special in ["\"", "\\", "\n", "\u{0}", "\u{1f}"] {
            for before in 0..20 {
                let text = format!(
                    "{}{special}\u{1}\"\\ é!#[]\u{7f}",
                    "é !#[]".repeat(4).get(..before * 7 / 6).unwrap_or("é")
                );
                let rest = from_special(text.as_bytes());
                assert!(rest.starts_with(special.as_bytes()), "{text:?}");
            }
        }
        assert_eq!(from_special("é !#[]\u{7f}ÿ€😀 no more".as_bytes()), b"");
    }

    #[test]
    fn members_and_elements_are_found() {
        let mut scanner = Scanner::new(r#" { "a" : [1, {"b":2}] , "\u0061":null,"c":"}"} "#, 9);
        let mut found = Vec::new();
        assert_eq!(scanner.members(|name, value| found.push((name, value))), Some(()));
        assert_eq!(found, [(r#""a""#, r#"[1, {"b":2}]"#), (r#""\u0061""#, "null"), (r#""c""#, r#""}""#)]);
        assert!(scanner.is_at_end());
        let mut scanner = Scanner::new("[ 1 ,[],\"\" ]", 9);
        let mut found = Vec::new();
        let read = scanner.elements(|scanner| {
            found.push(scanner.value()?);
            Some(())
        });
        assert_eq!((read, found.as_slice()), (Some(()), ["1", "[]", "\"\""].as_slice()));
        for broken in
            ["", "{", "{]", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":1", "{1:1}", "{\"a\":1 \"b\":2}", "[1}"]
        {
            assert_eq!(Scanner::new(broken, 9).members(|_, _| {}), None, "{broken}");
        }
    }
}
