//! Payloads that are objects: the params of cancellation, progress and streams.

use alloc::borrow::Cow;
use core::fmt::Debug;

use super::Payload;

/// A payload that can be read and written as an object.
pub trait ObjectPayload: Payload {
    /// The value of a member, which may borrow from the object.
    type Value<'p>: Copy + Debug
    where
        Self: 'p;

    /// Returns the members with these names, or `None` if this payload is not an object. If several members have the
    /// same name, the last member counts.
    fn members<'p, const N: usize>(&'p self, names: [&str; N]) -> Option<[Option<Self::Value<'p>>; N]>;

    /// Returns this payload as the value of a member.
    fn value(&self) -> Self::Value<'_>;

    /// Returns the value null.
    fn null<'p>() -> Self::Value<'p>
    where
        Self: 'p;

    /// Returns whether a value is null.
    fn is_null(value: Self::Value<'_>) -> bool;

    /// Reads a string. Returns `None` for any other value.
    fn read_text<'p>(value: Self::Value<'p>) -> Option<Cow<'p, str>>
    where
        Self: 'p;

    /// Reads an id. Returns `None` for a value that cannot be an id.
    fn read_id(value: Self::Value<'_>) -> Option<Self::Id>;

    /// Reads an integer from 0 to 2^32 - 1: `5`, `5.0` and `5e0` are integers. Returns `None` for any other value.
    fn read_count(value: Self::Value<'_>) -> Option<u32>;

    /// Writes an object with these members, in this order. Returns `None` if a member cannot be written.
    fn object(members: &[(&str, Member<'_, Self>)]) -> Option<Self>;
}

/// The value of a member to write.
#[derive(Debug)]
pub enum Member<'p, P: ObjectPayload + 'p> {
    /// An id.
    Id(&'p P::Id),
    /// A number.
    Count(u32),
    /// A text.
    Text(&'p str),
    /// A value of the application.
    Value(P::Value<'p>),
    /// An object. Its members are written in place of this member, and the name of this member is not used.
    MembersOf(P::Value<'p>),
}
