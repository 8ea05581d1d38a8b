//! The validator: reports every violation of JSON-RPC 2.0 in a message.
//!
//! A connection needs only the class of an element ([`Shape::classify`]). The validator reports all findings, and
//! changes no message. The input of the validator consists of the kinds of the members, and of the code of an error. So
//! the validator works for JSON text and for JavaScript values. It formats text only in [`Report::errors`] and
//! [`Report::warnings`].

mod report;
mod rule;

pub use report::{Finding, Report};
pub use rule::{Findings, Rule, Severity};

use crate::message::{Kind, Shape};

/// The facts about one element that the validator needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The kind of the element itself. The other fields are used only if the element is a [`Kind::Object`].
    pub item: Kind,
    /// The kinds of the members of the element.
    pub shape: Shape,
    /// The value of `error.code`. This field is used only if `error` is an object.
    pub error_code: Code,
    /// The kind of `error.message`. This field is used only if `error` is an object.
    pub error_message: Kind,
}

impl Subject {
    /// Creates the facts about an element that is not an object. The validator uses only the kind of this element.
    #[must_use]
    pub const fn not_an_object(item: Kind) -> Self {
        Self { item, shape: Shape::from_bits(0), error_code: Code::NotInteger, error_message: Kind::Missing }
    }
}

/// The `code` of an error object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The code is missing, or not an integer.
    NotInteger,
    /// An integer: `1`, `1.0` and `1e2` are integers.
    Integer(i64),
}

impl Code {
    /// Converts a number. A number that is not finite is not an integer. A finite number out of the range of an `i64`
    /// becomes the nearest `i64`.
    #[must_use]
    pub const fn from_f64(number: f64) -> Self {
        // A fraction is detected by a cast, because the operator `%` would add a library function of a kilobyte to a
        // wasm module. The cast saturates. A double beyond the range of an `i64` has no fraction.
        let integer = number as i64;
        if integer as f64 == number || (number.is_finite() && number.abs() > i64::MAX as f64) {
            Self::Integer(integer)
        } else {
            Self::NotInteger
        }
    }
}

/// Options of the validator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The expected kind of message.
    pub expect: Expect,
    /// Whether `params: null` is accepted as absent. Default: false, because the specification forbids null (§4.2:
    /// "array or object"). The [profile](crate::profile::Profile::null_params_are_absent) of a peer may accept null.
    pub null_params_are_absent: bool,
}

/// The expected kind of message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// A request or a notification if the element has a member `method`, or else a response.
    #[default]
    Either,
    /// A request or a notification.
    Request,
    /// A response.
    Response,
}

/// Returns all findings about one element.
///
/// # Examples
///
/// ```
/// use portway_proto::message::{Kind, Shape};
/// use portway_proto::validate::{Code, Options, Rule, Subject, check};
///
/// let shape = Shape { version: true, method: Kind::String, ..Shape::from_bits(0) };
/// let notification =
///     Subject { item: Kind::Object, shape, error_code: Code::NotInteger, error_message: Kind::Missing };
/// let findings = check(notification, Options::default());
/// assert!(findings.is_valid());
/// assert_eq!(findings.iter().collect::<Vec<_>>(), [&Rule::NoId]);
/// ```
#[must_use]
pub const fn check(subject: Subject, options: Options) -> Findings {
    if !matches!(subject.item, Kind::Object) {
        return Findings::NONE.with(Rule::Version);
    }
    let findings = if subject.shape.version { Findings::NONE } else { Findings::NONE.with(Rule::Version) };
    let is_call = match options.expect {
        Expect::Either => subject.shape.method.is_present(),
        Expect::Request => true,
        Expect::Response => false,
    };
    if is_call {
        check_call(findings, subject.shape, options.null_params_are_absent)
    } else {
        check_response(findings, subject)
    }
}

/// Returns the finding about an empty array: a batch must have at least one element (JSON-RPC 2.0 §6).
#[must_use]
pub const fn check_empty_batch() -> Findings {
    Findings::NONE.with(Rule::EmptyBatch)
}

const fn check_call(mut findings: Findings, shape: Shape, null_params_are_absent: bool) -> Findings {
    match shape.method {
        // The specification does not limit the length of a method name.
        Kind::String | Kind::TooLong => {}
        // An empty name counts as missing.
        Kind::Missing | Kind::Null | Kind::EmptyString => findings = findings.with(Rule::MethodMissing),
        _ => findings = findings.with(Rule::MethodNotString),
    }
    match shape.params {
        Kind::Missing | Kind::Array | Kind::Object => {}
        Kind::Null if null_params_are_absent => {}
        _ => findings = findings.with(Rule::ParamsNotStructured),
    }
    match shape.id {
        Kind::Missing => findings.with(Rule::NoId),
        id if id.is_id() => findings,
        _ => findings.with(Rule::IdOfWrongType),
    }
}

const fn check_response(mut findings: Findings, subject: Subject) -> Findings {
    let shape = subject.shape;
    match (shape.result.is_present(), shape.error.is_present()) {
        (false, false) => findings = findings.with(Rule::NoOutcome),
        (true, true) => findings = findings.with(Rule::TwoOutcomes),
        _ => {}
    }
    if !shape.id.is_present() {
        findings = findings.with(Rule::ResponseIdMissing);
    }
    match shape.error {
        Kind::Missing => findings,
        Kind::Object => check_error(findings, subject.error_code, subject.error_message),
        _ => findings.with(Rule::ErrorNotObject),
    }
}

const fn check_error(mut findings: Findings, code: Code, message: Kind) -> Findings {
    match code {
        Code::NotInteger => findings = findings.with(Rule::ErrorCodeNotInteger),
        Code::Integer(-32099..=-32000) => findings = findings.with(Rule::ServerErrorCode),
        Code::Integer(-32768..=-32000) => findings = findings.with(Rule::ReservedErrorCode),
        Code::Integer(_) => {}
    }
    if message.is_string() { findings } else { findings.with(Rule::ErrorMessageNotString) }
}

#[cfg(test)]
mod tests;
