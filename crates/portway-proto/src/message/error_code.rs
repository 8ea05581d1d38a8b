//! Error codes of JSON-RPC 2.0, and one of the Language Server Protocol.

use core::fmt;

/// The `code` of an error object (JSON-RPC 2.0 §5.1).
///
/// A code can be any integer. The constants do not include codes of applications, because one number has different
/// meanings in different protocols.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ErrorCode(i64);

impl ErrorCode {
    /// -32700: the text is not JSON.
    pub const PARSE_ERROR: Self = Self(-32700);
    /// -32600: the JSON is not a valid request.
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// -32601: the method does not exist.
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// -32602: the parameters are not valid for the method.
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// -32603: the handler failed.
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// -32800: the request was cancelled by its sender (Language Server Protocol 3.17, `RequestCancelled`).
    pub const REQUEST_CANCELLED: Self = Self(-32800);

    /// Creates a code from any integer.
    #[must_use]
    pub const fn new(code: i64) -> Self {
        Self(code)
    }

    /// Returns the code as a number.
    #[must_use]
    pub const fn value(self) -> i64 {
        self.0
    }

    /// Returns the standard message for the code of a constant above, or `None` for any other code.
    #[must_use]
    pub const fn standard_message(self) -> Option<&'static str> {
        Some(match self {
            Self::PARSE_ERROR => "Parse error",
            Self::INVALID_REQUEST => "Invalid Request",
            Self::METHOD_NOT_FOUND => "Method not found",
            Self::INVALID_PARAMS => "Invalid params",
            Self::INTERNAL_ERROR => "Internal error",
            Self::REQUEST_CANCELLED => "Request cancelled",
            _ => return None,
        })
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
