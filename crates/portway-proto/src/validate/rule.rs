//! The rules of JSON-RPC 2.0, and sets of rules.

/// One rule of JSON-RPC 2.0 that a message can break, or one warning about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Rule {
    /// `jsonrpc` is exactly the string `2.0` (§4, §5). A message or batch element that is not an object
    /// breaks only this rule.
    Version,
    /// A request or notification has a method (§4). An empty string counts as a missing method.
    MethodMissing,
    /// The method is a string (§4).
    MethodNotString,
    /// `params` are an array or an object (§4.2).
    ParamsNotStructured,
    /// The `id` of a request is a string, a number or null (§4).
    IdOfWrongType,
    /// Warns about a request without `id`, which is a notification (§4.1). A notification is valid, but is never
    /// answered.
    NoId,
    /// A response has a result or an error (§5).
    NoOutcome,
    /// A response does not have both members, `result` and `error` (§5). The values of the members have no effect on
    /// this rule.
    TwoOutcomes,
    /// A response has an `id` (§5).
    ResponseIdMissing,
    /// The error is an object (§5.1).
    ErrorNotObject,
    /// The code of an error is an integer (§5.1).
    ErrorCodeNotInteger,
    /// The message of an error is a string (§5.1).
    ErrorMessageNotString,
    /// Warns about an error code in the range for servers, -32099 to -32000 (§5.1). Servers define the meaning of these
    /// codes.
    ServerErrorCode,
    /// Warns about an error code from -32768 to -32100, which is reserved, but is not in the range for servers (§5.1).
    ReservedErrorCode,
    /// A batch has at least one element (§6).
    EmptyBatch,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The message is not valid.
    Error,
    /// The message is valid, but the sender may have intended another message.
    Warning,
}

impl Rule {
    /// Every rule, in the order of findings.
    pub const ALL: &'static [Self] = &[
        Self::Version,
        Self::MethodMissing,
        Self::MethodNotString,
        Self::ParamsNotStructured,
        Self::IdOfWrongType,
        Self::NoId,
        Self::NoOutcome,
        Self::TwoOutcomes,
        Self::ResponseIdMissing,
        Self::ErrorNotObject,
        Self::ErrorCodeNotInteger,
        Self::ErrorMessageNotString,
        Self::ServerErrorCode,
        Self::ReservedErrorCode,
        Self::EmptyBatch,
    ];

    /// Returns the text for users. Tools match these texts, so the texts must not change.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Version => "Missing or invalid \"jsonrpc\" field (must be \"2.0\")",
            Self::MethodMissing => "Missing required \"method\" field",
            Self::MethodNotString => "\"method\" field must be a string",
            Self::ParamsNotStructured => "\"params\" must be an array or object",
            Self::IdOfWrongType => "\"id\" must be a string, number, or null",
            Self::NoId => "No \"id\" field - this is a notification",
            Self::NoOutcome => "Response must have either \"result\" or \"error\" field",
            Self::TwoOutcomes => "Response cannot have both \"result\" and \"error\" fields",
            Self::ResponseIdMissing => "Missing required \"id\" field in response",
            Self::ErrorNotObject => "\"error\" must be an object",
            Self::ErrorCodeNotInteger => "\"error.code\" must be an integer number",
            Self::ErrorMessageNotString => "\"error.message\" must be a string",
            Self::ServerErrorCode => "\"error.code\" is in reserved server error range (-32099..-32000)",
            Self::ReservedErrorCode => "\"error.code\" is a reserved pre-defined code",
            Self::EmptyBatch => "Batch must not be empty",
        }
    }

    /// Returns [`Severity::Warning`] for the three rules that a valid message can break, and [`Severity::Error`] for
    /// all other rules.
    #[must_use]
    pub const fn severity(self) -> Severity {
        match self {
            Self::NoId | Self::ServerErrorCode | Self::ReservedErrorCode => Severity::Warning,
            _ => Severity::Error,
        }
    }

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// A set of rules: the findings about one element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings(u32);

impl Findings {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// The rules that are warnings, one bit for each rule.
    const WARNINGS: u32 = Rule::NoId.bit() | Rule::ServerErrorCode.bit() | Rule::ReservedErrorCode.bit();

    /// Returns this set with one more rule.
    #[must_use]
    pub const fn with(self, rule: Rule) -> Self {
        Self(self.0 | rule.bit())
    }

    /// Returns whether the rule is in the set.
    #[must_use]
    pub const fn contains(self, rule: Rule) -> bool {
        self.0 & rule.bit() != 0
    }

    /// Returns whether the set has no errors. The set may have warnings.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        self.0 & !Self::WARNINGS == 0
    }

    /// Returns the set as bits. The lowest bit is for the first rule of [`Rule::ALL`].
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Iterates over the findings in the order of [`Rule::ALL`].
    pub fn iter(self) -> impl Iterator<Item = &'static Rule> {
        Rule::ALL.iter().filter(move |rule| self.contains(**rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_listed_once_and_in_order() {
        for (index, rule) in Rule::ALL.iter().enumerate() {
            assert_eq!(*rule as usize, index, "{rule:?}");
        }
        assert_eq!(Rule::ALL.last(), Some(&Rule::EmptyBatch));
    }

    #[test]
    fn a_message_with_only_warnings_is_valid() {
        for rule in Rule::ALL {
            let alone = Findings::NONE.with(*rule);
            assert_eq!(alone.is_valid(), rule.severity() == Severity::Warning, "{rule:?}");
            assert!(alone.iter().eq([rule]));
        }
        assert!(Findings::NONE.is_valid());
    }
}
