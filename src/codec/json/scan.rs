//! What the grammar of JSON lets pass and we do not: one look over the text of a value, without recursion.

/// Why a value is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// Arrays and objects in each other, more than the limit.
    TooDeep,
    /// It holds a number that no double is near to, or a string that is no Unicode.
    Unrepresentable,
}

/// Looks for the first flaw in `text`, which is known to be one JSON value.
pub(super) fn scan(text: &str, depth_limit: usize) -> Result<(), Flaw> {
    let mut rest = text.as_bytes();
    let mut depth = 0_usize;
    while let [byte, tail @ ..] = rest {
        rest = match byte {
            b'[' | b'{' => {
                depth += 1;
                if depth > depth_limit {
                    return Err(Flaw::TooDeep);
                }
                tail
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                tail
            }
            b'"' => after_string(tail)?,
            b'-' | b'0'..=b'9' => after_number(rest)?,
            _ => tail,
        };
    }
    Ok(())
}

/// What follows the string whose first quote was taken.
fn after_string(mut rest: &[u8]) -> Result<&[u8], Flaw> {
    loop {
        let special = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(rest.len());
        rest = match rest.get(special..).unwrap_or_default() {
            [b'"', tail @ ..] => return Ok(tail),
            [b'\\', b'u', a, b, c, d, tail @ ..] => match code_unit([*a, *b, *c, *d]) {
                0xD800..0xDC00 => match tail {
                    [b'\\', b'u', a, b, c, d, tail @ ..] if is_low_surrogate([*a, *b, *c, *d]) => tail,
                    _ => return Err(Flaw::Unrepresentable),
                },
                0xDC00..0xE000 => return Err(Flaw::Unrepresentable),
                _ => tail,
            },
            [b'\\', _, tail @ ..] | [_, tail @ ..] => tail,
            [] => return Ok(rest),
        };
    }
}

fn is_low_surrogate(digits: [u8; 4]) -> bool {
    (0xDC00..0xE000).contains(&code_unit(digits))
}

fn code_unit(digits: [u8; 4]) -> u32 {
    digits.iter().fold(0, |unit, digit| unit << 4 | char::from(*digit).to_digit(16).unwrap_or(0))
}

/// What follows the number that `text` starts with.
fn after_number(text: &[u8]) -> Result<&[u8], Flaw> {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let length = text.iter().position(|byte| !is_part(byte)).unwrap_or(text.len());
    let (number, rest) = text.split_at_checked(length).unwrap_or((text, &[]));
    // The largest double has 309 digits: a shorter number without an exponent is in range.
    let in_range = number.len() < 309 && !number.iter().any(|byte| matches!(byte, b'e' | b'E'))
        || str::from_utf8(number).is_ok_and(|number| number.parse().is_ok_and(f64::is_finite));
    if in_range { Ok(rest) } else { Err(Flaw::Unrepresentable) }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn depth_counts_arrays_and_objects_and_is_inclusive() {
        assert_eq!(scan("[[1],{\"a\":[]}]", 3), Ok(()));
        assert_eq!(scan("[[1],{\"a\":[]}]", 2), Err(Flaw::TooDeep));
        assert_eq!(scan("\"[[[[\"", 0), Ok(()));
        assert_eq!(scan("[\"\\\"[[[\",[]]", 2), Ok(()));
    }

    #[test]
    fn depth_is_not_the_count_of_brackets() {
        assert_eq!(scan(&format!("[{}]", ["[{}]"; 1_000].join(",")), 3), Ok(()));
    }

    #[test]
    fn numbers_beyond_a_double_are_flaws() {
        for number in ["1e400", "-1E+400", "[0,1e309]", "123123e100000", &"9".repeat(400)] {
            assert_eq!(scan(number, 9), Err(Flaw::Unrepresentable), "{number}");
        }
        for number in
            ["1e308", "-0", "1e-400", "0e999999999", "[1E+2]", &"9".repeat(308), &format!("0.{}", "9".repeat(400))]
        {
            assert_eq!(scan(number, 9), Ok(()), "{number}");
        }
    }

    #[test]
    fn surrogates_come_in_pairs() {
        for text in [r#""\ud83d\ude00""#, r#""\uD83D\uDE00\uD83D\uDE00""#, r#""\\ud800""#, r#""\u0000\uffff""#] {
            assert_eq!(scan(text, 9), Ok(()), "{text}");
        }
        for text in
            [r#""\ud83d""#, r#""\ude00""#, r#""\ud83dx""#, r#""\ud83d\ud83d""#, r#""\ud83d\n""#, r#"{"\ud800":1}"#]
        {
            assert_eq!(scan(text, 9), Err(Flaw::Unrepresentable), "{text}");
        }
    }
}
