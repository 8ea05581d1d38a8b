//! Reads the members of a JSON object, and names an invalid member by its path.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::fault::{Code, Fault, echo};

/// A member that is missing or invalid.
#[derive(Debug, PartialEq)]
pub(crate) struct Problem {
    /// The path of the member, such as `incidents[0].severity`.
    pub(crate) field: String,
    /// The requirement and the received value.
    pub(crate) details: String,
}

impl From<Problem> for Fault {
    fn from(Problem { field, details }: Problem) -> Self {
        Self::params(field, details)
    }
}

impl Problem {
    /// Returns the error -32014, which names the field in its message.
    pub(crate) fn into_configuration_fault(self) -> Fault {
        let detail = if self.field == "workspace.working_dir" {
            "Invalid workspace directory".to_owned()
        } else {
            format!("Invalid {}", self.field)
        };
        let Self { field, details } = self;
        Fault::new(Code::Configuration, serde_json::json!({ "field": field, "details": details })).with_detail(detail)
    }
}

/// An object with its path.
#[derive(Clone, Debug)]
pub(crate) struct Object<'a> {
    path: String,
    members: &'a Map<String, Value>,
}

/// A member of an object with its path. The value may be absent.
#[derive(Clone, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) path: String,
    pub(crate) value: Option<&'a Value>,
}

impl<'a> Object<'a> {
    pub(crate) const fn new(path: String, members: &'a Map<String, Value>) -> Self {
        Self { path, members }
    }

    /// Returns the object with an empty path: the paths of its members then begin with their names.
    pub(crate) fn as_root(&self) -> Self {
        Self::new(String::new(), self.members)
    }

    /// Returns the member `name`. An absent member has no value.
    pub(crate) fn field(&self, name: &str) -> Field<'a> {
        Field { path: self.path_of(name), value: self.members.get(name) }
    }

    /// Returns the member `name` if it is present and not null.
    pub(crate) fn optional(&self, name: &str) -> Option<Field<'a>> {
        let field = self.field(name);
        field.value.is_some_and(|value| !value.is_null()).then_some(field)
    }

    /// Returns the member `name` if it is present. Its value may be null.
    pub(crate) fn present(&self, name: &str) -> Option<Field<'a>> {
        let field = self.field(name);
        field.value.is_some().then_some(field)
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = (&'a String, Field<'a>)> {
        self.members.iter().map(|(name, value)| (name, Field { path: self.path_of(name), value: Some(value) }))
    }

    /// Returns the paths of the members that have none of the names.
    pub(crate) fn unknown(&self, names: &[&str]) -> Vec<String> {
        let unknown = self.members.keys().filter(|name| !names.contains(&name.as_str()));
        unknown.map(|name| self.path_of(echo(name))).collect()
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

impl<'a> Field<'a> {
    pub(crate) const fn new(path: String, value: &'a Value) -> Self {
        Self { path, value: Some(value) }
    }

    /// Returns the problem of this member.
    pub(crate) fn problem(&self, details: impl Into<String>) -> Problem {
        Problem { field: self.path.clone(), details: details.into() }
    }

    /// Returns the problem that the value is not of the required kind.
    fn must_be(&self, requirement: &str) -> Problem {
        self.problem(format!("must be {requirement}, got {}", kind(self.value)))
    }

    pub(crate) fn object(&self) -> Result<Object<'a>, Problem> {
        let members = self.value.and_then(Value::as_object).ok_or_else(|| self.must_be("an object"))?;
        Ok(Object { path: self.path.clone(), members })
    }

    /// Returns the elements of an array. Their number must be in the range.
    pub(crate) fn array(&self, lengths: RangeInclusive<usize>) -> Result<Vec<Self>, Problem> {
        let elements = self.value.and_then(Value::as_array).ok_or_else(|| self.must_be("an array"))?;
        if !lengths.contains(&elements.len()) {
            let (min, max) = lengths.into_inner();
            let limits = if max == usize::MAX { format!("at least {min}") } else { format!("{min} to {max}") };
            return Err(self.problem(format!("must have {limits} elements, got {}", elements.len())));
        }
        let element = |(index, value)| Field { path: format!("{}[{index}]", self.path), value: Some(value) };
        Ok(elements.iter().enumerate().map(element).collect())
    }

    pub(crate) fn boolean(&self) -> Result<bool, Problem> {
        self.value.and_then(Value::as_bool).ok_or_else(|| self.must_be("a boolean"))
    }

    /// Returns a string. Its length in characters must be in the range.
    pub(crate) fn string(&self, lengths: RangeInclusive<usize>) -> Result<&'a str, Problem> {
        let text = self.value.and_then(Value::as_str).ok_or_else(|| self.must_be("a string"))?;
        let length = text.chars().count();
        if lengths.contains(&length) {
            return Ok(text);
        }
        let (min, max) = lengths.into_inner();
        Err(self.problem(format!("must have {min} to {max} characters, got {length}")))
    }

    /// Returns a string that must be one of `names`.
    pub(crate) fn one_of(&self, names: &[&str]) -> Result<&'a str, Problem> {
        let text = self.value.and_then(Value::as_str).ok_or_else(|| self.must_be("a string"))?;
        if names.contains(&text) {
            return Ok(text);
        }
        Err(self.problem(format!("must be one of {}, got \"{}\"", names.join(", "), echo(text))))
    }

    /// Returns a whole number in the range. `3.0` is a whole number, too.
    pub(crate) fn integer(&self, range: RangeInclusive<u64>) -> Result<u64, Problem> {
        let number = self.value.filter(|value| value.is_number()).ok_or_else(|| self.must_be("a number"))?;
        if let Some(integer) = whole(number).filter(|integer| range.contains(integer)) {
            return Ok(integer);
        }
        let (min, max) = range.into_inner();
        Err(self.problem(format!("must be a whole number from {min} to {max}, got {number}")))
    }

    /// Returns a number in the range.
    pub(crate) fn number(&self, range: RangeInclusive<f64>) -> Result<f64, Problem> {
        let number = self.value.and_then(Value::as_f64).ok_or_else(|| self.must_be("a number"))?;
        if range.contains(&number) {
            return Ok(number);
        }
        let (min, max) = range.into_inner();
        Err(self.problem(format!("must be a number from {min} to {max}, got {number}")))
    }
}

/// Returns a number without a fraction.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked before the cast")]
fn whole(number: &Value) -> Option<u64> {
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    let from_float = |float: f64| (float.fract() == 0.0 && (0.0..=MAX_EXACT).contains(&float)).then_some(float as u64);
    number.as_u64().or_else(|| number.as_f64().and_then(from_float))
}

/// Returns the JSON type of a value.
const fn kind(value: Option<&Value>) -> &'static str {
    match value {
        None => "nothing",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "a boolean",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "a string",
        Some(Value::Array(_)) => "an array",
        Some(Value::Object(_)) => "an object",
    }
}
