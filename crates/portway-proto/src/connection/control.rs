//! The notifications of the protocol: cancellation, progress, and the items and credit of streams.
//!
//! The [`Profile`] defines the methods of cancellation and progress. The methods of streams are extensions of Portway.
//! The params are objects. [`ObjectPayload`] reads and writes them.

use alloc::borrow::Cow;

use super::streams::is_credit;
use crate::message::{Member, Notification, ObjectPayload};
use crate::profile::{CancelNotification, Profile, ProgressNotification, ProgressValue};

/// The method of a request for a stream, with the params `{ method, params, credit }`. The stream consists of the items
/// that the method in the params returns.
pub const STREAM_METHOD: &str = "rpc.stream";
/// The method of the notification that contains one item, with the params `{ id, value }`.
pub const ITEM_METHOD: &str = "rpc.item";
/// The method of the notification that permits `count` more items, with the params `{ id, count }`.
pub const CREDIT_METHOD: &str = "rpc.credit";

/// A notification of the protocol from the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control<I, V> {
    /// The peer no longer needs the response to its request with this id.
    Cancel(I),
    /// The progress of the request with the id `token`.
    Progress {
        /// The id of the request.
        token: I,
        /// The value. Null if the value is absent.
        value: V,
    },
    /// An item of the stream that was requested with this id.
    Item {
        /// The id of the request.
        id: I,
        /// The item. Null if the item is absent.
        value: V,
    },
    /// Credit for the stream that the peer has requested with this id.
    Credit {
        /// The id of the request.
        id: I,
        /// The number of items that the receiver of this notification may send in addition.
        count: u32,
    },
    /// An item or credit whose params do not have the required form. The driver ignores the notification.
    Malformed,
}

/// Reads a notification of the protocol. Returns `None` for any other notification, which is for the application. A
/// protocol may use the method of cancellation or progress for notifications with params of another form. A
/// notification with these params is also for the application.
pub fn read<'p, P: ObjectPayload>(
    profile: &Profile,
    notification: &'p Notification<P>,
) -> Option<Control<P::Id, P::Value<'p>>>
where
    P::Method: AsRef<str>,
{
    let method = notification.method.as_ref();
    let params = notification.params.as_ref();
    if method == profile.cancel.method {
        return read_cancel(profile.cancel, params?);
    }
    if method == profile.progress.method {
        return read_progress(profile.progress, params?);
    }
    let control = match method {
        ITEM_METHOD => params.and_then(read_item),
        CREDIT_METHOD => params.and_then(read_credit),
        _ => return None,
    };
    Some(control.unwrap_or(Control::Malformed))
}

/// The params of a request for a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRequest<'p, V> {
    /// The method whose items are requested.
    pub method: Cow<'p, str>,
    /// The params of the method. `None` if these params are absent or null.
    pub params: Option<V>,
    /// The number of items that the receiver of the request may send before the sender of the request permits more.
    pub credit: u32,
}

/// Reads the params of a request for a stream. Returns `None` if the method is missing, or if the credit is not valid.
pub fn read_stream_request<P: ObjectPayload>(params: &P) -> Option<StreamRequest<'_, P::Value<'_>>> {
    let [method, params, credit] = params.members(["method", "params", "credit"])?;
    let credit = P::read_count(credit?).filter(|credit| is_credit(*credit))?;
    let params = params.filter(|params| !P::is_null(*params));
    Some(StreamRequest { method: P::read_text(method?)?, params, credit })
}

/// Writes the params of a request for a stream. Returns `None` if they cannot be written.
pub fn write_stream_request<P: ObjectPayload>(method: &str, params: Option<&P>, credit: u32) -> Option<P> {
    let method = ("method", Member::Text(method));
    let credit = ("credit", Member::Count(credit));
    match params {
        Some(params) => P::object(&[method, ("params", Member::Value(params.value())), credit]),
        None => P::object(&[method, credit]),
    }
}

/// Writes the params of the notification that cancels the request with this id. `reason` is a text for people. The
/// reason is omitted if `form` has no member for a reason. Returns `None` if the params cannot be written.
pub fn write_cancel<P: ObjectPayload>(form: &CancelNotification, id: &P::Id, reason: Option<&str>) -> Option<P> {
    let id = (form.member, Member::Id(id));
    match form.reason.zip(reason) {
        Some((name, reason)) => P::object(&[id, (name, Member::Text(reason))]),
        None => P::object(&[id]),
    }
}

/// Writes the params of progress. Returns `None` if they cannot be written, for example if [`ProgressValue::Params`]
/// requires an object and `value` is not an object.
pub fn write_progress<P: ObjectPayload>(form: &ProgressNotification, token: &P::Id, value: &P) -> Option<P> {
    let value = match form.value {
        ProgressValue::Member(name) => (name, Member::Value(value.value())),
        ProgressValue::Params => ("", Member::MembersOf(value.value())),
    };
    P::object(&[(form.token, Member::Id(token)), value])
}

/// Writes the params of an item. Returns `None` if they cannot be written.
pub fn write_item<P: ObjectPayload>(id: &P::Id, value: &P) -> Option<P> {
    P::object(&[("id", Member::Id(id)), ("value", Member::Value(value.value()))])
}

/// Writes the params of credit. Returns `None` if they cannot be written.
pub fn write_credit<P: ObjectPayload>(id: &P::Id, count: u32) -> Option<P> {
    P::object(&[("id", Member::Id(id)), ("count", Member::Count(count))])
}

fn read_cancel<'p, P: ObjectPayload>(form: &CancelNotification, params: &'p P) -> Option<Control<P::Id, P::Value<'p>>> {
    let [id] = params.members([form.member])?;
    P::read_id(id?).map(Control::Cancel)
}

fn read_progress<'p, P: ObjectPayload>(
    form: &ProgressNotification,
    params: &'p P,
) -> Option<Control<P::Id, P::Value<'p>>> {
    let (token, value) = match form.value {
        ProgressValue::Member(name) => {
            let [token, value] = params.members([form.token, name])?;
            (token, value.unwrap_or_else(P::null))
        }
        ProgressValue::Params => {
            let [token] = params.members([form.token])?;
            (token, params.value())
        }
    };
    Some(Control::Progress { token: P::read_id(token?)?, value })
}

fn read_item<P: ObjectPayload>(params: &P) -> Option<Control<P::Id, P::Value<'_>>> {
    let [id, value] = params.members(["id", "value"])?;
    Some(Control::Item { id: P::read_id(id?)?, value: value.unwrap_or_else(P::null) })
}

fn read_credit<P: ObjectPayload>(params: &P) -> Option<Control<P::Id, P::Value<'_>>> {
    let [id, count] = params.members(["id", "count"])?;
    let count = P::read_count(count?).filter(|count| is_credit(*count))?;
    Some(Control::Credit { id: P::read_id(id?)?, count })
}
