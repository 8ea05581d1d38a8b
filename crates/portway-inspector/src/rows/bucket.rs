//! The time buckets of the list.

/// The names of the buckets, each with its end in microseconds since the first record.
const BUCKETS: [(&str, u64); 7] = [
    ("0-1s", 1_000_000),
    ("1-2s", 2_000_000),
    ("2-5s", 5_000_000),
    ("5-10s", 10_000_000),
    ("10-30s", 30_000_000),
    ("30-60s", 60_000_000),
    ("60s+", u64::MAX),
];

/// The number of buckets.
pub const BUCKET_COUNT: usize = BUCKETS.len();

/// Returns the index of the bucket for a duration since the first record, in microseconds.
#[must_use]
pub fn bucket_index(elapsed: u64) -> u8 {
    BUCKETS.iter().filter(|(_, end)| *end <= elapsed).count().min(BUCKETS.len() - 1) as u8
}

/// Returns the name of a bucket.
#[must_use]
pub fn bucket_name(index: u8) -> &'static str {
    BUCKETS.get(usize::from(index)).map_or("60s+", |(name, _)| name)
}
