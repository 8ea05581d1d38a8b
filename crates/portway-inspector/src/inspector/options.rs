//! The options of the inspector.

use alloc::collections::BTreeMap;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::buffer;
use crate::links::BatchMatch;
use crate::rows::{DEFAULT_MAX_HEIGHT, Heights, MIN_MAX_HEIGHT};

/// The options of an inspector.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The limits of the history.
    pub buffer: buffer::Options,
    /// The heights of rows.
    pub heights: Heights,
    /// The largest height of the element that contains the rows, in pixels.
    pub max_height: f64,
    /// The names of error codes: those of the profile that the user has chosen.
    pub code_names: BTreeMap<i64, String>,
    /// The rule by which an array of responses answers a batch.
    pub batch_match: BatchMatch,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            buffer: buffer::Options::default(),
            heights: Heights::default(),
            max_height: DEFAULT_MAX_HEIGHT,
            code_names: BTreeMap::new(),
            batch_match: BatchMatch::All,
        }
    }
}

/// The range of the heights of rows and headers, in pixels.
const HEIGHT_RANGE: (f64, f64) = (1.0, 10_000.0);

impl Options {
    /// Returns the options with the nearest values in range.
    pub(super) fn within_range(self) -> Self {
        let height = |value: f64, default: f64| {
            if value.is_nan() { default } else { value.clamp(HEIGHT_RANGE.0, HEIGHT_RANGE.1) }
        };
        let defaults = Heights::default();
        Self {
            heights: Heights {
                header: height(self.heights.header, defaults.header),
                message: height(self.heights.message, defaults.message),
                ..self.heights
            },
            max_height: if self.max_height.is_nan() {
                DEFAULT_MAX_HEIGHT
            } else {
                self.max_height.clamp(MIN_MAX_HEIGHT, 33_000_000.0)
            },
            ..self
        }
    }
}

/// The options that the page passes. An absent option keeps its value.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OptionsPatch {
    limit: Option<f64>,
    bytes: Option<f64>,
    prefer_pending: Option<bool>,
    prefer_batches: Option<bool>,
    drop_chunk_size: Option<f64>,
    row_height: Option<RowHeight>,
    header_height: Option<f64>,
    message_height: Option<f64>,
    max_height: Option<f64>,
    /// The names of codes. An empty map removes all names.
    code_names: Option<BTreeMap<String, i64>>,
    batch_match: Option<BatchMatch>,
}

/// The way in which the heights of rows are determined.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum RowHeight {
    Heuristic,
    Fixed,
}

/// All options, as the page receives them.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OptionsView {
    limit: usize,
    bytes: u64,
    prefer_pending: bool,
    prefer_batches: bool,
    drop_chunk_size: usize,
    row_height: RowHeight,
    header_height: f64,
    message_height: f64,
    max_height: f64,
    code_names: BTreeMap<String, i64>,
    batch_match: BatchMatch,
}

impl Options {
    /// Returns these options with the values of a patch. For the limits of the history, NaN becomes the default, and a
    /// negative number becomes 0. Heights are not changed here: `within_range` limits them.
    #[must_use]
    pub fn patched(&self, patch: OptionsPatch) -> Self {
        let mut options = self.clone();
        let defaults = Self::default().buffer;
        // A cast of a negative number is 0, and a cast of a number above the range is the largest number.
        let number = |value: f64, default: usize| if value.is_nan() { default } else { value as usize };
        if let Some(limit) = patch.limit {
            options.buffer.limit = number(limit, defaults.limit);
        }
        if let Some(bytes) = patch.bytes {
            options.buffer.text_bytes = if bytes.is_nan() { defaults.text_bytes } else { bytes as u64 };
        }
        if let Some(size) = patch.drop_chunk_size {
            options.buffer.drop_chunk_size = number(size, defaults.drop_chunk_size);
        }
        options.buffer.prefer_pending = patch.prefer_pending.unwrap_or(options.buffer.prefer_pending);
        options.buffer.prefer_batches = patch.prefer_batches.unwrap_or(options.buffer.prefer_batches);
        if let Some(row_height) = patch.row_height {
            options.heights.is_heuristic = matches!(row_height, RowHeight::Heuristic);
        }
        options.heights.header = patch.header_height.unwrap_or(options.heights.header);
        options.heights.message = patch.message_height.unwrap_or(options.heights.message);
        options.max_height = patch.max_height.unwrap_or(options.max_height);
        if let Some(names) = patch.code_names {
            options.code_names = names.into_iter().map(|(name, code)| (code, name)).collect();
        }
        options.batch_match = patch.batch_match.unwrap_or(options.batch_match);
        options
    }

    /// Returns the options for the page.
    #[must_use]
    pub fn view(&self) -> OptionsView {
        OptionsView {
            limit: self.buffer.limit,
            bytes: self.buffer.text_bytes,
            prefer_pending: self.buffer.prefer_pending,
            prefer_batches: self.buffer.prefer_batches,
            drop_chunk_size: self.buffer.drop_chunk_size,
            row_height: if self.heights.is_heuristic { RowHeight::Heuristic } else { RowHeight::Fixed },
            header_height: self.heights.header,
            message_height: self.heights.message,
            max_height: self.max_height,
            code_names: self.code_names.iter().map(|(code, name)| (name.clone(), *code)).collect(),
            batch_match: self.batch_match,
        }
    }
}
