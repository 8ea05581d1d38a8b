//! The names of exported files.

use alloc::format;
use alloc::string::String;

use crate::limits::MAX_EXPORT_NAME_CHARACTERS;

/// The format of an exported file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// A JSON array with one record per line.
    #[default]
    Json,
    /// One record per line.
    Lines,
}

impl Format {
    const fn extension(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Lines => "jsonl",
        }
    }
}

/// The values of the filter that name an export. A blank value does not filter, so it does not name an export either.
#[derive(Clone, Copy, Debug, Default)]
pub struct NameFilter<'a> {
    /// The filter for methods.
    pub method: Option<&'a str>,
    /// The filter for ids.
    pub id: Option<&'a str>,
    /// The filter for texts.
    pub text: Option<&'a str>,
}

/// Returns the name of an export that was made at `at`, in microseconds since 1970-01-01 UTC: `messages-<time>.json`,
/// or `messages-filtered-<field>-<value>-<time>.json`. The method has precedence over the id, and the id over the
/// text. If no letter or digit remains of the value, the name has no value.
#[must_use]
pub fn name(at: u64, filter: NameFilter<'_>, format: Format) -> String {
    let fields = [("method", filter.method), ("id", filter.id), ("text", filter.text)];
    let field = fields.into_iter().find_map(|(field, value)| Some((field, value.filter(|it| !it.trim().is_empty())?)));
    let time = iso_time(at).replace([':', '.'], "-");
    let extension = format.extension();
    match field.map(|(field, value)| (field, sanitized(value))) {
        None => format!("messages-{time}.{extension}"),
        Some((field, value)) if value.is_empty() => format!("messages-filtered-{field}-{time}.{extension}"),
        Some((field, value)) => format!("messages-filtered-{field}-{value}-{time}.{extension}"),
    }
}

/// Returns the value in lower case, cut to [`MAX_EXPORT_NAME_CHARACTERS`]. A run of characters other than `a` to `z`
/// and digits becomes one hyphen, and is removed at the start and at the end of the value.
fn sanitized(value: &str) -> String {
    let mut result = String::new();
    for character in value.chars().flat_map(char::to_lowercase) {
        if result.len() >= MAX_EXPORT_NAME_CHARACTERS {
            break;
        }
        if character.is_ascii_alphanumeric() {
            result.push(character);
        } else if !result.is_empty() && !result.ends_with('-') {
            result.push('-');
        }
    }
    result.truncate(result.trim_end_matches('-').len());
    result
}

/// Returns a time as ISO 8601 with milliseconds, as `Date.prototype.toISOString` does. `at` is in microseconds since
/// 1970-01-01 UTC.
#[must_use]
pub fn iso_time(at: u64) -> String {
    let millis = at / 1_000;
    let (days, in_day) = (millis / 86_400_000, millis % 86_400_000);
    let (year, month, day) = date(days);
    let (hour, minute) = (in_day / 3_600_000, in_day / 60_000 % 60);
    let (second, milli) = (in_day / 1_000 % 60, in_day % 1_000);
    // Years beyond 9999 have a sign and six digits (ECMA-262 §21.4.1.32).
    let year = if year > 9_999 { format!("+{year:06}") } else { format!("{year:04}") };
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Returns the year, the month and the day of the date `days` days after 1970-01-01, in the Gregorian calendar.
const fn date(days: u64) -> (u64, u64, u64) {
    // The algorithm counts years from March 1 of the year 0, so that a leap day is the last day of its year.
    const DAYS_TO_1970: u64 = 719_468;
    const DAYS_IN_ERA: u64 = 146_097;
    let days = days + DAYS_TO_1970;
    let (era, day_of_era) = (days / DAYS_IN_ERA, days % DAYS_IN_ERA);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-01-31T12:34:56.789Z.
    const AT: u64 = 1_769_862_896_789_012;

    fn named(method: Option<&str>, id: Option<&str>, text: Option<&str>) -> String {
        name(AT, NameFilter { method, id, text }, Format::Json)
    }

    #[test]
    fn times_are_those_of_javascript() {
        for (at, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (AT, "2026-01-31T12:34:56.789Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000Z"),
            (4_107_542_399_999_999, "2100-02-28T23:59:59.999Z"),
            (253_402_300_799_999_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000_000, "+010000-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso_time(at), expected);
        }
        assert!(iso_time(u64::MAX).ends_with('Z'));
    }

    #[test]
    fn the_method_has_precedence_over_the_id_and_the_id_over_the_text() {
        const TIME: &str = "2026-01-31T12-34-56-789Z";
        assert_eq!(named(None, None, None), format!("messages-{TIME}.json"));
        assert_eq!(named(Some("a"), Some("1"), Some("t")), format!("messages-filtered-method-a-{TIME}.json"));
        assert_eq!(named(Some(" "), Some("1"), Some("t")), format!("messages-filtered-id-1-{TIME}.json"));
        assert_eq!(named(None, Some(""), Some("t")), format!("messages-filtered-text-t-{TIME}.json"));
        let lines = name(AT, NameFilter::default(), Format::Lines);
        assert_eq!(lines, format!("messages-{TIME}.jsonl"));
    }

    #[test]
    fn a_value_has_only_letters_digits_and_hyphens_and_is_bounded() {
        for (value, expected) in [
            ("textDocument/didOpen", "-textdocument-didopen"),
            ("../../x", "-x"),
            ("--A__b--C--", "-a-b-c"),
            ("CON", "-con"),
            ("a.b:c\\d\0e", "-a-b-c-d-e"),
            ("日本語", ""),
            ("é", ""),
            ("\u{130}", "-i"),
        ] {
            assert_eq!(
                named(None, None, Some(value)),
                format!("messages-filtered-text{expected}-2026-01-31T12-34-56-789Z.json"),
                "{value}"
            );
        }
        let long = "x/".repeat(5_000);
        assert!(named(None, None, Some(&long)).len() < 120);
    }
}
