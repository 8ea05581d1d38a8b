//! Limits that `cargo xtask limits --write` generates from limits.toml.

/// Default maximum number of rows in the history of the inspector.
pub const DEFAULT_ROWS: usize = 2_000;
/// Maximum of the option `limit` of the inspector.
pub const MAX_ROWS: usize = 1_000_000;
/// Default maximum size of all texts in the history of the inspector.
pub const DEFAULT_TEXT_BYTES: u64 = 67_108_864;
/// Maximum number of messages of a batch that the inspector stores.
pub const MAX_BATCH_ITEMS: usize = 10_000;
/// Maximum number of messages of a batch in the detail of its row.
pub const MAX_DETAIL_ITEMS: usize = 1_000;
/// Maximum number of missing ids that the inspector lists for an array of responses.
pub const MAX_MISSING_IDS: usize = 20;
/// Maximum number of earlier calls of a method in the detail of a row.
pub const MAX_EARLIER_CALLS: usize = 20;
/// Maximum number of rows and headers that the list of the inspector draws at a time.
pub const MAX_LAYOUT_ENTRIES: usize = 2_000;
/// Default maximum height of the list of the inspector.
pub const DEFAULT_LIST_PIXELS: u32 = 15_000_000;
/// Maximum number of characters of the id of a link in a record that the page of the inspector takes.
pub const MAX_LINK_CHARACTERS: usize = 200;
/// Maximum number of links in the inspector.
pub const MAX_LINKS: usize = 10_000;
/// Maximum number of characters of the name, the transport and the reason of a link in the inspector.
pub const MAX_LINK_TEXT_CHARACTERS: usize = 200;
/// Maximum number of pairs of a link and a method with figures of their own in the inspector.
pub const MAX_METHODS: usize = 1_000;
/// Maximum number of characters of a method that the inspector stores.
pub const MAX_METHOD_CHARACTERS: usize = 200;
/// Maximum number of bytes of an id that the inspector stores.
pub const MAX_ID_BYTES: usize = 128;
/// Maximum number of pending calls that stay known to the inspector after their rows were dropped.
pub const MAX_CALLS_WITHOUT_ROW: usize = 10_000;
/// Maximum number of answered calls that the inspector remembers, so that it recognises a second response.
pub const MAX_ANSWERED_CALLS: usize = 4_096;
/// Maximum number of invalid lines that the inspector reports for a file.
pub const MAX_IMPORT_PROBLEMS: usize = 1_000;
/// Maximum number of names of secrets in the settings of the inspector.
pub const MAX_SECRET_NAMES: usize = 100;
/// Maximum number of characters of a filter's value in the name of an exported file.
pub const MAX_EXPORT_NAME_CHARACTERS: usize = 64;
