//! The messages of a stream: a request that names its method, items, and credit for more items. See `PROTOCOL.md`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::Text;
use super::limits::MAX_STREAM_CREDIT;
use super::progress::{self, id_text};
use crate::message::{Id, RequestId};

pub(super) const REQUEST: &str = "rpc.stream";
pub(super) const ITEM: &str = "rpc.item";
pub(super) const CREDIT: &str = "rpc.credit";

#[derive(Serialize, Deserialize)]
pub(super) struct StreamRequest<'a> {
    /// Borrowed, unless the name is written with escapes.
    #[serde(borrow)]
    pub(super) method: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) params: Option<&'a RawValue>,
    pub(super) credit: u32,
}

#[derive(Serialize, Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    value: &'a RawValue,
}

#[derive(Serialize, Deserialize)]
struct Credit<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    count: u32,
}

pub(super) fn write_request(request: &StreamRequest<'_>) -> Option<Text> {
    to_raw_value(request).ok()
}

pub(super) fn write_item(id: &Id, value: &RawValue) -> Option<Text> {
    to_raw_value(&Item { id: &id_text(id)?, value }).ok()
}

pub(super) fn write_credit(id: u64, count: u32) -> Option<Text> {
    to_raw_value(&Credit { id: &id_text(&Id::from_call(id))?, count }).ok()
}

/// Returns the id of the call and the item; `None` for any other params.
pub(super) fn read_item(params: &RawValue) -> Option<(u64, &RawValue)> {
    let Item { id, value } = serde_json::from_str(params.get()).ok()?;
    Some((progress::read_id(id)?.to_call()?, value))
}

pub(super) fn read_credit(params: &RawValue) -> Option<(Id, u32)> {
    let Credit { id, count } = serde_json::from_str(params.get()).ok()?;
    is_credit(count).then_some((progress::read_id(id)?, count))
}

pub(super) const fn is_credit(count: u32) -> bool {
    count > 0 && count <= MAX_STREAM_CREDIT
}
