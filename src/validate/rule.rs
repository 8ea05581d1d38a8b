//! The rules, one variant each, and sets of them.

/// One rule of JSON-RPC 2.0 that a message can break, or something worth a remark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Rule {
    /// `jsonrpc` is exactly the string `2.0` (§4, §5). What is no object breaks this one rule.
    Version,
    /// A call names a method (§4). The empty string names none.
    MethodMissing,
    /// The method is a string (§4).
    MethodNotString,
    /// `params` are an array or an object (§4.2).
    ParamsNotStructured,
    /// The `id` of a request is a string, a number or null (§4).
    IdOfWrongType,
    /// A call without `id` is a notification (§4.1): worth a remark, since nobody will answer.
    NoId,
    /// A response has a result or an error (§5).
    NoOutcome,
    /// It does not have both (§5), whatever their values.
    TwoOutcomes,
    /// It has an `id` (§5).
    ResponseIdMissing,
    /// The error is an object (§5.1).
    ErrorNotObject,
    /// Its code is an integer (§5.1).
    ErrorCodeNotInteger,
    /// Its message is a string (§5.1).
    ErrorMessageNotString,
    /// The code is one of those left to servers (§5.1): worth a remark, since its meaning is theirs.
    ServerErrorCode,
    /// The code is one of the others that the specification keeps for itself (§5.1).
    ReservedErrorCode,
    /// A batch holds at least one element (§6).
    EmptyBatch,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The message is not valid.
    Error,
    /// The message is valid, and perhaps not what was meant.
    Warning,
}

impl Rule {
    /// Every rule, in the order in which findings are told.
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

    /// What to tell the user. Tools match on these texts: they do not change.
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

    /// Whether a message that breaks it is still valid.
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

/// A set of rules: what was found in one element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings(u32);

impl Findings {
    /// Nothing to say.
    pub const NONE: Self = Self(0);

    /// The warnings, as bits.
    const WARNINGS: u32 = Rule::NoId.bit() | Rule::ServerErrorCode.bit() | Rule::ReservedErrorCode.bit();

    /// This set and one more rule.
    #[must_use]
    pub const fn with(self, rule: Rule) -> Self {
        Self(self.0 | rule.bit())
    }

    /// Whether the rule was broken.
    #[must_use]
    pub const fn contains(self, rule: Rule) -> bool {
        self.0 & rule.bit() != 0
    }

    /// Whether there is no error. There may be warnings.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        self.0 & !Self::WARNINGS == 0
    }

    /// One bit a rule, the lowest for the first of [`Rule::ALL`].
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// What was found, in the order of [`Rule::ALL`].
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
    fn only_warnings_leave_a_message_valid() {
        for rule in Rule::ALL {
            let alone = Findings::NONE.with(*rule);
            assert_eq!(alone.is_valid(), rule.severity() == Severity::Warning, "{rule:?}");
            assert!(alone.iter().eq([rule]));
        }
        assert!(Findings::NONE.is_valid());
    }
}
