//! Error objects, and the errors that the library itself answers with.

use alloc::boxed::Box;

use super::ErrorCode;

/// The `error` member of a response (JSON-RPC 2.0 §5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorObject<P> {
    /// What kind of error this is.
    pub code: ErrorCode,
    /// A short description.
    pub message: Box<str>,
    /// More about the error. `None` leaves the member out; a payload holding `null` writes `null`.
    pub data: Option<P>,
}

/// An error that the library answers with on its own, before any handler runs.
///
/// It is one byte; what goes on the wire is looked up when it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The text is not JSON.
    ParseError,
    /// Not a valid request.
    InvalidRequest,
    /// A request that is refused for a reason of our own.
    Refused(Reason),
}

impl Fault {
    /// The code on the wire.
    #[must_use]
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::ParseError => ErrorCode::PARSE_ERROR,
            Self::InvalidRequest | Self::Refused(_) => ErrorCode::INVALID_REQUEST,
        }
    }

    /// The text on the wire.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::ParseError => "Parse error",
            Self::Refused(Reason::BatchNotSupported) => "Batch requests not supported",
            Self::InvalidRequest | Self::Refused(_) => "Invalid Request",
        }
    }

    /// What goes out as `data.reason`.
    #[must_use]
    pub const fn reason(self) -> Option<Reason> {
        match self {
            Self::Refused(reason) => Some(reason),
            Self::ParseError | Self::InvalidRequest => None,
        }
    }
}

/// Why the library refused a request: the `data.reason` of its error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The `id` is neither string, number nor null.
    InvalidIdType,
    /// The `id` is longer than [`crate::Limits::id_length`].
    IdTooLong,
    /// The `method` is longer than [`crate::limits::MAX_METHOD_LENGTH`].
    MethodTooLong,
    /// The same `id` twice in one batch.
    DuplicateId,
    /// The params share an object with those of a request that came with them.
    SharedParams,
    /// This peer takes no batches.
    BatchNotSupported,
    /// More items than [`crate::Limits::batch_items`].
    BatchTooLarge,
    /// More requests at once than [`crate::Limits::in_flight`], or more bytes than [`crate::Limits::in_flight_bytes`].
    TooManyRequests,
    /// A message longer than [`crate::Limits::message_bytes`].
    Oversize,
    /// A header longer than [`crate::Limits::header_bytes`].
    HeaderTooLarge,
    /// The header says that the body is something else than JSON-RPC.
    UnsupportedContentType,
    /// The header says that the body is not in UTF-8.
    BadCharset,
    /// Nested deeper than [`crate::Limits::depth`].
    NestingTooDeep,
}

impl Reason {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidIdType => "invalid-id-type",
            Self::IdTooLong => "id-too-long",
            Self::MethodTooLong => "method-too-long",
            Self::DuplicateId => "duplicate-id",
            Self::SharedParams => "shared-params",
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
