//! Classifies a message by the kinds of its members.
//!
//! An element is a value that should be a message: a whole input, or a member of a batch. Every decoder, for JSON text
//! or for JavaScript values, describes an element as a [`Shape`]. Only this module decides whether an element is a
//! request, a notification or a response.

use super::{Fault, Reason};
use crate::profile::Profile;

/// The kind of a member's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The member is missing.
    Missing = 0,
    /// `null`.
    Null = 1,
    /// `true` or `false`.
    Boolean = 2,
    /// A number without a fraction: `1`, `1.0` and `1e2`.
    Integer = 3,
    /// Any other finite number.
    Fraction = 4,
    /// A string of at least one character.
    String = 5,
    /// `""`.
    EmptyString = 6,
    /// An array.
    Array = 7,
    /// An object.
    Object = 8,
    /// A value that JSON cannot express: `undefined`, a BigInt, a function, or a number that is not finite.
    Other = 9,
    /// An id or a method name that is longer than its limit. In the field `params`, this kind means that the params
    /// share an object with the params of another message. Only the decoder of JavaScript values uses this kind for
    /// params.
    TooLong = 10,
}

impl Kind {
    /// Returns the kind with this number. Numbers out of range are [`Kind::Other`].
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        match bits {
            0 => Self::Missing,
            1 => Self::Null,
            2 => Self::Boolean,
            3 => Self::Integer,
            4 => Self::Fraction,
            5 => Self::String,
            6 => Self::EmptyString,
            7 => Self::Array,
            8 => Self::Object,
            10 => Self::TooLong,
            _ => Self::Other,
        }
    }

    /// Returns whether the member exists.
    #[must_use]
    pub const fn is_present(self) -> bool {
        !matches!(self, Self::Missing)
    }

    /// Returns whether the value is a string, empty or not.
    #[must_use]
    pub const fn is_string(self) -> bool {
        matches!(self, Self::String | Self::EmptyString)
    }

    /// Returns whether the value can be the `id` of a request: a string, a number or null.
    #[must_use]
    pub const fn is_id(self) -> bool {
        self.is_string() || matches!(self, Self::Integer | Self::Fraction | Self::Null)
    }
}

/// The kinds of the members of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Whether the element has a member `jsonrpc` that is exactly the string `2.0`.
    pub version: bool,
    /// The kind of `id`.
    pub id: Kind,
    /// The kind of `method`.
    pub method: Kind,
    /// The kind of `params`.
    pub params: Kind,
    /// The kind of `result`.
    pub result: Kind,
    /// The kind of `error`.
    pub error: Kind,
}

/// The class of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A request with a valid id.
    Request,
    /// A notification.
    Notification,
    /// A response with a result.
    Success,
    /// A response with an error.
    Failure,
    /// An element with an id, but without method, result and error. If a pending call has this id, the call ends as
    /// [`End::Invalid`](crate::connection::End::Invalid). If no pending call has this id, [`Shape::unmatched_empty`]
    /// applies.
    Empty,
    /// An element of none of these classes.
    Malformed(Malformed),
}

/// The reaction to an element that is not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The element is ignored.
    Ignore,
    /// The element is answered with this error and the id of the element.
    AnswerWithId(Fault),
    /// The element is answered with this error and the id null, because the id of the element is missing or invalid.
    AnswerWithNull(Fault),
}

impl Shape {
    /// Unpacks a shape. From the lowest bit on, `bits` has four bits for each of `id`, `method`, `params`, `result` and
    /// `error`. The next bit is the version.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self {
            id: Kind::from_bits(bits & 15),
            method: Kind::from_bits(bits >> 4 & 15),
            params: Kind::from_bits(bits >> 8 & 15),
            result: Kind::from_bits(bits >> 12 & 15),
            error: Kind::from_bits(bits >> 16 & 15),
            version: bits >> 20 & 1 == 1,
        }
    }

    /// Returns whether the element has an outcome: a result of any kind, or an error that is not null.
    ///
    /// JSON-RPC 1.0 peers send `error: null` together with a result. This null is not an error.
    const fn has_outcome(self) -> bool {
        self.result.is_present() || (self.error.is_present() && !matches!(self.error, Kind::Null))
    }

    /// Returns the class of the element, by the rules of `profile`.
    #[must_use]
    pub const fn classify(self, profile: &Profile) -> Class {
        if self.method.is_present() {
            return self.classify_call(profile);
        }
        if self.has_outcome() {
            // A response is never answered, even if it is malformed.
            return if !self.version || !self.id.is_id() {
                Class::Malformed(Malformed::Ignore)
            } else if self.error.is_present() && !matches!(self.error, Kind::Null) {
                Class::Failure
            } else {
                Class::Success
            };
        }
        if self.version && self.id.is_present() && self.id.is_id() { Class::Empty } else { self.invalid(profile) }
    }

    const fn classify_call(self, profile: &Profile) -> Class {
        let is_too_long = matches!(self.method, Kind::TooLong);
        if !self.version || !(self.method.is_string() || is_too_long) || self.has_outcome() {
            return self.invalid(profile);
        }
        let are_params_valid = match self.params {
            // In the Model Context Protocol, params are objects.
            Kind::Array if profile.is_mcp() => false,
            Kind::Missing | Kind::Array | Kind::Object => true,
            Kind::Null => profile.null_params_are_absent,
            _ => false,
        };
        match (self.id.is_present(), are_params_valid) {
            (false, true) if !is_too_long => Class::Notification,
            // A notification is never answered.
            (false, _) => Class::Malformed(Malformed::Ignore),
            (true, _) if !self.id.is_id() => self.invalid(profile),
            (true, _) if is_too_long => {
                Class::Malformed(Malformed::AnswerWithId(Fault::Refused(Reason::MethodTooLong)))
            }
            (true, true) => Class::Request,
            // For params, `TooLong` means that they share an object with the params of another message.
            (true, false) if matches!(self.params, Kind::TooLong) => {
                Class::Malformed(Malformed::AnswerWithId(Fault::Refused(Reason::SharedParams)))
            }
            #[cfg(feature = "mcp")]
            (true, false) if matches!(self.params, Kind::Array) => {
                Class::Malformed(Malformed::AnswerWithId(Fault::Refused(Reason::ParamsNotObject)))
            }
            (true, false) => Class::Malformed(Malformed::AnswerWithId(Fault::InvalidRequest)),
        }
    }

    /// Returns the reaction to an element that is not a valid request, notification or response.
    const fn invalid(self, profile: &Profile) -> Class {
        Class::Malformed(if !self.version && profile.foreign_is_ignored {
            Malformed::Ignore
        } else if !self.id.is_present() {
            Malformed::AnswerWithNull(Fault::InvalidRequest)
        } else if matches!(self.id, Kind::TooLong) {
            Malformed::AnswerWithNull(Fault::Refused(Reason::IdTooLong))
        } else if !self.id.is_id() {
            Malformed::AnswerWithNull(Fault::Refused(Reason::InvalidIdType))
        } else {
            Malformed::AnswerWithId(Fault::InvalidRequest)
        })
    }

    /// Returns the fault that answers an element of [`Class::Empty`] if no pending call has its id. Returns `None` if
    /// [`Profile::foreign_is_ignored`] is true, because the element may be a response of other software, which must not
    /// be answered. With other profiles, the element is an invalid request.
    #[must_use]
    pub const fn unmatched_empty(profile: &Profile) -> Option<Fault> {
        if profile.foreign_is_ignored { None } else { Some(Fault::InvalidRequest) }
    }
}
