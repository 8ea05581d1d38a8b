//! The notification that cancels a request, in the form of the profile.

use std::collections::BTreeMap;

use serde_json::value::to_raw_value;

use super::progress::{id_text, read_id};
use super::{Text, members};
use crate::message::{Id, Message, Notification, Outgoing};
use crate::profile::CancelNotification;

pub(super) fn write(form: CancelNotification, id: &Id) -> Option<Outgoing<Text>> {
    let params = to_raw_value(&BTreeMap::from([(form.member, id_text(id)?)])).ok();
    Some(Outgoing::Single(Message::Notification(Notification { method: form.method.into(), params })))
}

/// Returns the id of the cancelled request; `None` for any other notification.
pub(super) fn read(form: CancelNotification, notification: &Notification<Text>) -> Option<Id> {
    if &*notification.method != form.method {
        return None;
    }
    let [id] = members::read(notification.params.as_deref()?.get().as_bytes(), [form.member])?;
    read_id(id?)
}
