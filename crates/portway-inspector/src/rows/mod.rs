//! The list of the page: its entries, their heights, and the scroll position.

mod bucket;
mod fenwick;
mod height;
mod list;
mod scroll;

pub use bucket::{BUCKET_COUNT, bucket_index, bucket_name};
pub use fenwick::{Extent, Fenwick};
pub use height::{Heights, UNITS_PER_PIXEL, pixels, units};
pub use list::{Entry, List, Placed};
pub use scroll::{DEFAULT_MAX_HEIGHT, MIN_MAX_HEIGHT, Scroll};
