//! The filter of the list.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::buffer::{Flags, Row};
use crate::classify::Kind;
use crate::links;
use crate::record::Direction;

/// The tab of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tab {
    /// All rows.
    #[default]
    All,
    /// Sent messages.
    Sent,
    /// Received messages.
    Received,
    /// Notifications, and batches that have only notifications.
    Notifications,
    /// Error responses, batches that contain an error response, and invalid messages.
    Errors,
}

impl Tab {
    /// Every tab.
    pub const ALL: [Self; 5] = [Self::All, Self::Sent, Self::Received, Self::Notifications, Self::Errors];

    /// Returns whether the tab shows a row.
    #[must_use]
    pub fn shows(self, row: &Row) -> bool {
        match self {
            Self::All => true,
            Self::Sent => row.direction == Some(Direction::Sent),
            Self::Received => row.direction == Some(Direction::Received),
            Self::Notifications => row.kind == Kind::Notification || row.flags.has(Flags::ONLY_NOTIFICATIONS),
            Self::Errors => matches!(row.kind, Kind::Error | Kind::Invalid) || row.flags.has(Flags::BATCH_ERROR),
        }
    }
}

/// The conditions that a row must meet. The values are not trimmed, and a blank value has no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// A part of the method of the row, in upper or lower case.
    pub method: String,
    /// The whole id, as text.
    pub id: String,
    /// Whether the text must match the text filter of the page.
    pub text: bool,
    /// The tab.
    pub tab: Tab,
    /// Indexes of links. An empty set selects all.
    pub links: BTreeSet<u32>,
    /// Kinds of rows. An empty list selects all.
    pub kinds: Vec<Kind>,
    /// Whether the row must have an error: an error response, or a fault that is an error.
    pub errors_only: bool,
    /// Whether the row must be invalid.
    pub invalid_only: bool,
    /// Whether a call of the row must be pending.
    pub pending_only: bool,
}

/// The members of a filter, as the page passes them. An absent or null member has no effect.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FilterValues {
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tab: Option<Tab>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<BTreeSet<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kinds: Option<Vec<Kind>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors_only: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    invalid_only: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_only: Option<bool>,
}

impl FilterValues {
    /// Returns the members of a preset, and the members of this filter that the preset does not have.
    #[must_use]
    pub fn merged(self, preset: Self) -> Self {
        Self {
            method: preset.method.or(self.method),
            id: preset.id.or(self.id),
            text: preset.text.or(self.text),
            tab: preset.tab.or(self.tab),
            links: preset.links.or(self.links),
            kinds: preset.kinds.or(self.kinds),
            errors_only: preset.errors_only.or(self.errors_only),
            invalid_only: preset.invalid_only.or(self.invalid_only),
            pending_only: preset.pending_only.or(self.pending_only),
        }
    }
}

impl From<FilterValues> for Filter {
    fn from(values: FilterValues) -> Self {
        Self {
            method: values.method.unwrap_or_default(),
            id: values.id.unwrap_or_default(),
            text: values.text.unwrap_or_default(),
            tab: values.tab.unwrap_or_default(),
            links: values.links.unwrap_or_default(),
            kinds: values.kinds.unwrap_or_default(),
            errors_only: values.errors_only.unwrap_or_default(),
            invalid_only: values.invalid_only.unwrap_or_default(),
            pending_only: values.pending_only.unwrap_or_default(),
        }
    }
}

/// A filter that is prepared for many rows.
#[derive(Debug, Default)]
pub struct PreparedFilter {
    filter: Filter,
    /// The method in lower case, or `None` if it is blank.
    method: Option<String>,
}

impl PreparedFilter {
    /// Prepares a filter.
    #[must_use]
    pub fn new(filter: Filter) -> Self {
        let method = Some(filter.method.to_lowercase()).filter(|method| !method.trim().is_empty());
        Self { filter, method }
    }

    /// Returns the filter.
    #[must_use]
    pub const fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Returns whether a row meets all conditions except the tab. `method` returns the name of the row's method.
    /// `batch_has_id` returns whether a message in the batch of the row has this id.
    pub fn passes<'m>(
        &self,
        row: &Row,
        method: impl FnOnce() -> Option<&'m str>,
        batch_has_id: impl FnOnce(&str) -> bool,
    ) -> bool {
        let filter = &self.filter;
        (filter.links.is_empty() || filter.links.contains(&row.link))
            && (filter.kinds.is_empty() || filter.kinds.contains(&row.kind))
            && (!filter.text || row.flags.has(Flags::MATCHES_TEXT))
            && (!filter.errors_only || row.has_errors() || Tab::Errors.shows(row))
            && (!filter.invalid_only || row.is_invalid())
            && (!filter.pending_only || row.is_pending())
            && self.method.as_ref().is_none_or(|part| {
                let method = method();
                method.is_some_and(|method| method.contains(&**part) || method.to_lowercase().contains(&**part))
            })
            && (filter.id.trim().is_empty()
                || row.id.as_ref().is_some_and(|id| links::is_text(id, &filter.id))
                || (row.kind == Kind::Batch && batch_has_id(&filter.id)))
    }
}

/// The number of rows of each tab: rows that the filter would show with this tab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All rows.
    pub all: u32,
    /// Sent messages.
    pub sent: u32,
    /// Received messages.
    pub received: u32,
    /// Notifications.
    pub notifications: u32,
    /// Errors.
    pub errors: u32,
}

impl Counts {
    /// Adds a row.
    pub fn add(&mut self, row: &Row) {
        self.each(row, |count| *count += 1);
    }

    /// Removes a row.
    pub fn remove(&mut self, row: &Row) {
        self.each(row, |count| *count = count.saturating_sub(1));
    }

    fn each(&mut self, row: &Row, change: impl Fn(&mut u32)) {
        for tab in Tab::ALL.into_iter().filter(|tab| tab.shows(row)) {
            change(match tab {
                Tab::All => &mut self.all,
                Tab::Sent => &mut self.sent,
                Tab::Received => &mut self.received,
                Tab::Notifications => &mut self.notifications,
                Tab::Errors => &mut self.errors,
            });
        }
    }
}
