//! The distribution of durations in bounded memory.

use alloc::vec::Vec;

/// The number of bits after the leading bit that are equal in all durations of a group. So these durations differ by at
/// most 1/64.
const PRECISION: u32 = 6;

/// Counts durations in groups whose width is proportional to the duration. A quantile has an error of at most 1 %.
/// The same durations, in any order, have the same quantiles.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    /// The number of durations in each group, by the index of the group. There are at most 3 776 groups.
    groups: Vec<(u16, u32)>,
    count: u64,
    longest: u64,
}

impl Durations {
    /// Adds a duration, in any unit.
    pub fn add(&mut self, duration: u64) {
        self.count += 1;
        self.longest = self.longest.max(duration);
        let group = group_of(duration);
        match self.groups.binary_search_by_key(&group, |(group, _)| *group) {
            Ok(index) => {
                if let Some((_, count)) = self.groups.get_mut(index) {
                    *count = count.saturating_add(1);
                }
            }
            Err(index) => self.groups.insert(index, (group, 1)),
        }
    }

    /// Adds all durations of another distribution.
    pub fn merge(&mut self, other: &Self) {
        let mut groups = Vec::with_capacity(self.groups.len() + other.groups.len());
        groups.extend_from_slice(&self.groups);
        groups.extend_from_slice(&other.groups);
        groups.sort_unstable_by_key(|(group, _)| *group);
        groups.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            is_same
        });
        self.groups = groups;
        self.count += other.count;
        self.longest = self.longest.max(other.longest);
    }

    /// Returns the number of durations.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the longest duration, or `None` without durations.
    #[must_use]
    pub const fn longest(&self) -> Option<u64> {
        if self.count == 0 { None } else { Some(self.longest) }
    }

    /// Returns the duration that `percent` per cent of the durations do not exceed, or `None` without durations.
    #[must_use]
    pub fn quantile(&self, percent: u64) -> Option<u64> {
        let rank = (self.count * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let (group, _) = self.groups.iter().find(|(_, count)| {
            seen += u64::from(*count);
            seen >= rank
        })?;
        Some(middle_of(*group).min(self.longest))
    }
}

/// Returns the index of the group of a duration.
const fn group_of(duration: u64) -> u16 {
    if duration < 1 << (PRECISION + 1) {
        return duration as u16;
    }
    let exponent = u64::BITS - 1 - duration.leading_zeros() - PRECISION;
    let leading = (duration >> exponent) as u16;
    ((exponent as u16) << PRECISION) + leading
}

/// Returns the duration in the middle of a group.
const fn middle_of(group: u16) -> u64 {
    if group < 1 << (PRECISION + 1) {
        return group as u64;
    }
    let exponent = (group >> PRECISION) as u32 - 1;
    let leading = (group - ((exponent as u16) << PRECISION)) as u64;
    (leading << exponent) + ((1 << exponent) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_consecutive_and_precise() {
        let mut duration = 0_u64;
        let mut last = 0;
        while duration < u64::MAX / 2 {
            let group = group_of(duration);
            assert!(group == last || group == last + 1, "{duration}");
            last = group;
            let error = middle_of(group).abs_diff(duration);
            assert!(error * 100 <= duration, "{duration}: {error}");
            duration += 1 + duration / 200;
        }
        assert!(group_of(u64::MAX) < 3_776);
        assert_eq!(middle_of(group_of(u64::MAX)).leading_zeros(), 0);
    }

    #[test]
    fn quantiles_are_those_of_the_durations() {
        let mut durations = Durations::default();
        assert_eq!((durations.quantile(50), durations.longest()), (None, None));
        for duration in (1..=100).rev() {
            durations.add(duration * 1_000);
        }
        let is_near = |percent, expected: u64| {
            durations.quantile(percent).is_some_and(|found| found.abs_diff(expected) * 100 <= expected)
        };
        assert!(is_near(50, 50_000) && is_near(95, 95_000) && is_near(1, 1_000));
        assert!(is_near(100, 100_000));
        assert_eq!(durations.longest(), Some(100_000));
        let mut twice = durations.clone();
        twice.merge(&durations);
        assert_eq!((twice.count(), twice.quantile(50)), (200, durations.quantile(50)));
    }
}
