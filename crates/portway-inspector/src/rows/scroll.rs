//! Converts between scroll positions and distances in the list. Browsers limit the height of an element, so a long list
//! is scaled: one pixel of scrolling passes several pixels of the list. The rows keep their heights.

use crate::limits::DEFAULT_LIST_PIXELS;

/// The default of the option `max_height`, in pixels. Firefox shows no element that is higher than 17 800 000 pixels.
pub const DEFAULT_MAX_HEIGHT: f64 = DEFAULT_LIST_PIXELS as f64;

/// The smallest value of the option `max_height`, in pixels. With a smaller value, one pixel of scrolling could pass
/// whole rows, and the user could not scroll to these rows.
pub const MIN_MAX_HEIGHT: f64 = 100_000.0;

/// The conversion for one height of the list and one viewport. All values are in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scroll {
    /// The height of the list.
    pub total: f64,
    /// The height of the element that contains the rows.
    pub height: f64,
    /// The height of the viewport.
    pub viewport: f64,
}

impl Scroll {
    /// Creates the conversion. `total` is the height of the list.
    #[must_use]
    pub fn new(total: f64, viewport: f64, max_height: f64) -> Self {
        let viewport = if viewport.is_finite() { viewport.max(0.0) } else { 0.0 };
        // The element must be higher than the viewport, so that it can be scrolled.
        Self { total, height: total.min(max_height.max(2.0 * viewport)), viewport }
    }

    /// Returns the pixels of the list that one pixel of scrolling passes: at least 1.
    #[must_use]
    pub fn scale(&self) -> f64 {
        let room = self.height - self.viewport;
        if self.total > self.height && room > 0.0 { (self.total - self.viewport) / room } else { 1.0 }
    }

    /// Returns the largest scroll position.
    #[must_use]
    pub fn end(&self) -> f64 {
        (self.height - self.viewport).max(0.0)
    }

    /// Returns the distance from the top of the list to the top of the viewport.
    #[must_use]
    pub fn list_top(&self, scroll_top: f64) -> f64 {
        let scroll_top = if scroll_top.is_nan() { 0.0 } else { scroll_top.clamp(0.0, self.end()) };
        scroll_top * self.scale()
    }

    /// Returns the scroll position that shows this distance from the top of the list at the top of the viewport.
    #[must_use]
    pub fn scroll_top(&self, list_top: f64) -> f64 {
        (list_top / self.scale()).clamp(0.0, self.end())
    }
}
