//! The heights of rows.

use crate::buffer::Row;
use crate::classify::Kind;

/// Heights are counted in 64ths of a pixel, because sums of integers have no rounding errors.
pub const UNITS_PER_PIXEL: f64 = 64.0;

/// The largest height of one row, in pixels.
const MAX_ROW_HEIGHT: f64 = 100_000.0;

/// Determines the heights of rows that were not measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heights {
    /// Whether long messages, large batches and findings make a row higher.
    pub is_heuristic: bool,
    /// The height of the header of a time bucket, in pixels.
    pub header: f64,
    /// The height of a row, in pixels. The heuristic may add to it.
    pub message: f64,
}

impl Default for Heights {
    fn default() -> Self {
        Self { is_heuristic: true, header: 28.0, message: 88.0 }
    }
}

impl Heights {
    /// Returns the height of a row, in 64ths of a pixel: the measured height, or an estimate.
    #[must_use]
    pub fn of(&self, row: &Row) -> u32 {
        if row.measured > 0 { row.measured } else { units(self.message + f64::from(self.addition(row))) }
    }

    /// Returns the height of a header, in 64ths of a pixel.
    #[must_use]
    pub fn of_header(&self) -> u32 {
        units(self.header)
    }

    /// Returns the pixels that the heuristic adds.
    fn addition(&self, row: &Row) -> u32 {
        if !self.is_heuristic {
            return 0;
        }
        let length = if row.length > 400 { 16 * (row.length / 400).min(10) } else { 0 };
        let items = match row.kind {
            Kind::Batch if row.items > 5 => ((row.items - 5) / 5 + 1).saturating_mul(12),
            _ => 0,
        };
        let errors = if row.findings.is_valid() { 0 } else { 12 };
        let warnings = if row.has_validator_warnings() { 8 } else { 0 };
        items.saturating_add(length + errors + warnings)
    }
}

/// Converts pixels to 64ths of a pixel. A row is at least one unit high, so that each row has a place in the list.
#[must_use]
pub fn units(pixels: f64) -> u32 {
    let pixels = if pixels.is_nan() { 0.0 } else { pixels.clamp(0.0, MAX_ROW_HEIGHT) };
    ((pixels * UNITS_PER_PIXEL) as u32).max(1)
}

/// Converts 64ths of a pixel to pixels.
#[must_use]
pub fn pixels(units: u64) -> f64 {
    units as f64 / UNITS_PER_PIXEL
}
