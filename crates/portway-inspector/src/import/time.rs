//! Reads the times of messages in files.

use crate::record::MAX_TIME;

/// Returns the microseconds since 1970-01-01 UTC of a time in ISO 8601, for example `2026-01-31T12:34:56.789Z` or
/// `2026-01-31 12:34:56.789012+01:00`. A time without an offset is in UTC. Returns `None` for other texts, and for a
/// time that no record can have: before 1970, or after [`MAX_TIME`], which is in the year 2255.
pub(super) fn iso_micros(text: &str) -> Option<u64> {
    let (date, time) = text.split_once(['T', ' '])?;
    let mut date = date.split('-');
    let (year, month, day) = (number(date.next()?)?, number(date.next()?)?, number(date.next()?)?);
    let zone = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (time, zone) = time.split_at_checked(zone)?;
    let mut time = time.split(':');
    let (hour, minute) = (number(time.next()?)?, number(time.next()?)?);
    let (second, fraction) = time.next().unwrap_or("0").split_once('.').unwrap_or((whole_seconds(text)?, ""));
    let second = number(second)?;
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day) && (1_970..=9_999).contains(&year);
    if !is_date || hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let micros = fraction
        .bytes()
        .chain([b'0'; 6])
        .take(6)
        .try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))?;
    let minutes = days(year, month, day) * 1_440 + hour * 60 + minute - offset(zone)?;
    u64::try_from((minutes * 60 + second) * 1_000_000 + micros).ok().filter(|micros| *micros <= MAX_TIME)
}

/// Returns the seconds of a time that has no fraction, or `0` for a time without seconds.
fn whole_seconds(text: &str) -> Option<&str> {
    let mut parts = text.split(['T', ' ']).nth(1)?.split(['Z', 'z', '+', '-']).next()?.split(':').skip(2);
    Some(parts.next().unwrap_or("0"))
}

fn number(text: &str) -> Option<i64> {
    if text.is_empty() || text.len() > 4 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// Returns the offset of a zone in minutes.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.bytes().next() {
        None | Some(b'Z' | b'z') => return Some(0),
        Some(b'-') => -1,
        _ => 1,
    };
    let zone = zone.get(1..)?;
    let (hours, minutes) = match zone.split_once(':') {
        Some(parts) => parts,
        None => zone.split_at_checked(2)?,
    };
    let minutes = if minutes.is_empty() { 0 } else { number(minutes)? };
    Some(sign * (number(hours)? * 60 + minutes))
}

/// Returns the days from 1970-01-01 to a date of the Gregorian calendar.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    // The years begin on March 1, so that a leap day is the last day of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

/// Returns the microseconds of a time in seconds, with a fraction. Returns `None` for a time that no record
/// can have, and for a number that is not finite.
pub(super) fn seconds_to_micros(seconds: f64) -> Option<u64> {
    let micros = seconds * 1_000_000.0 + 0.5;
    (0.0..=MAX_TIME as f64).contains(&micros).then_some(micros as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::iso_time;

    #[test]
    fn times_are_read_as_they_are_written() {
        for at in [0, 1_769_862_896_789_000, 951_782_400_000_000, 4_107_542_399_999_000, 68_169_599_999_000] {
            assert_eq!(iso_micros(&iso_time(at)), Some(at), "{}", iso_time(at));
        }
        for (text, at) in [
            ("2026-12-01 14:05:06.123456+00:00", Some(1_796_133_906_123_456)),
            ("2026-12-01T15:05:06.123456+01:00", Some(1_796_133_906_123_456)),
            ("2026-12-01T09:35:06-0430", Some(1_796_133_906_000_000)),
            ("2026-12-01T14:05:06", Some(1_796_133_906_000_000)),
            ("2026-12-01T14:05Z", Some(1_796_133_900_000_000)),
            ("2026-13-01T14:05Z", None),
            ("2026-12-01", None),
            ("2026-12-01T", None),
            ("yesterday T1", None),
            ("1960-01-01T00:00:00Z", None),
            ("2255-06-05T23:47:34.740992Z", Some(MAX_TIME)),
            ("2255-06-05T23:47:34.740993Z", None),
            ("9999-12-31T23:59:59Z", None),
            ("2026-12-01T14:05:06.12x", None),
            ("", None),
        ] {
            assert_eq!(iso_micros(text), at, "{text}");
        }
    }

    #[test]
    fn seconds_become_micros() {
        assert_eq!(seconds_to_micros(1_769_862_896.789_012), Some(1_769_862_896_789_012));
        assert_eq!([f64::NAN, f64::INFINITY, -1.0, 1e30].map(seconds_to_micros), [None; 4]);
    }
}
