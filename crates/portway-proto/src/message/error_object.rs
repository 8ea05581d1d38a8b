//! Error objects, and the errors that the library itself sends.

use alloc::boxed::Box;

use crate::ErrorCode;

/// The `error` member of a response (JSON-RPC 2.0 §5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorObject<P> {
    /// The code of the error.
    pub code: ErrorCode,
    /// A short description.
    pub message: Box<str>,
    /// Additional data. With `None`, the member is omitted. A payload with the value `null` is written as `null`.
    pub data: Option<P>,
}

/// An error that the library itself sends in a response, before a handler runs.
///
/// The value is one byte. The methods return the code, the text and the reason for the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The text is not JSON.
    ParseError,
    /// The message is not a valid request.
    InvalidRequest,
    /// The library refuses the message for this reason.
    Refused(Reason),
}

impl Fault {
    /// Returns the `code` of the error object.
    #[must_use]
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::ParseError => ErrorCode::PARSE_ERROR,
            Self::InvalidRequest | Self::Refused(_) => ErrorCode::INVALID_REQUEST,
        }
    }

    /// Returns the `message` of the error object.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::ParseError => "Parse error",
            Self::Refused(Reason::BatchNotSupported) => "Batch requests not supported",
            Self::InvalidRequest | Self::Refused(_) => "Invalid Request",
        }
    }

    /// Returns the `data.reason` of the error object, or `None` if the error object has no data.
    #[must_use]
    pub const fn reason(self) -> Option<Reason> {
        match self {
            Self::Refused(reason) => Some(reason),
            Self::ParseError | Self::InvalidRequest => None,
        }
    }
}

/// Why the library refused a message: the `data.reason` of the error response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The `id` is neither string, number nor null.
    InvalidIdType,
    /// The `id` is longer than [`crate::Limits::id_length`].
    IdTooLong,
    /// The `method` is longer than [`crate::MAX_METHOD_LENGTH`].
    MethodTooLong,
    /// The same `id` occurs twice in one batch.
    DuplicateId,
    /// The params share an object with the params of another request in the same message.
    SharedParams,
    /// The params are an array, but the profile of the receiver accepts only objects.
    #[cfg(feature = "mcp")]
    ParamsNotObject,
    /// The profile of the receiver does not accept batches.
    BatchNotSupported,
    /// The batch has more messages than [`crate::Limits::batch_items`].
    BatchTooLarge,
    /// The request would exceed [`crate::Limits::in_flight`] or [`crate::Limits::in_flight_bytes`].
    TooManyRequests,
    /// The message is longer than [`crate::Limits::message_bytes`].
    Oversize,
    /// The header is longer than [`crate::Limits::header_bytes`].
    HeaderTooLarge,
    /// The header declares a content type other than JSON-RPC.
    UnsupportedContentType,
    /// The header declares a charset other than UTF-8.
    BadCharset,
    /// The message is nested deeper than [`crate::Limits::depth`].
    NestingTooDeep,
}

impl Reason {
    /// Returns the text of `data.reason`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidIdType => "invalid-id-type",
            Self::IdTooLong => "id-too-long",
            Self::MethodTooLong => "method-too-long",
            Self::DuplicateId => "duplicate-id",
            Self::SharedParams => "shared-params",
            #[cfg(feature = "mcp")]
            Self::ParamsNotObject => "params-not-object",
            Self::BatchNotSupported => "batch-not-supported",
            Self::BatchTooLarge => "batch-too-large",
            Self::TooManyRequests => "too-many-requests",
            Self::Oversize => "oversize",
            Self::HeaderTooLarge => "header-too-large",
            Self::UnsupportedContentType => "unsupported-content-type",
            Self::BadCharset => "bad-charset",
            Self::NestingTooDeep => "nesting-too-deep",
        }
    }
}
