//! The names of error codes.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;

use portway_proto::ErrorCode;

/// Returns the name of a code: the name in `names`, the name of the specification, or the name of the range of the
/// specification (§5.1). A number has different meanings in different protocols, so only the names of a profile that
/// the user has chosen are in `names`.
#[must_use]
pub fn code_name(code: i64, names: &BTreeMap<i64, String>) -> Option<String> {
    if let Some(name) = names.get(&code) {
        return Some(name.clone());
    }
    let name = match (code, ErrorCode::new(code).standard_message()) {
        // `standard_message` also knows a code of the Language Server Protocol, which is outside of these ranges.
        (-32768..=-32000, Some(message)) => message,
        (-32099..=-32000, None) => "reserved server range",
        (-32768..=-32000, None) => "reserved range",
        _ => return None,
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_applications_have_names_only_with_a_profile() {
        let names = BTreeMap::from([(-32001, "BUILD_FAILED".to_owned())]);
        let none = BTreeMap::new();
        let name = |code, names| code_name(code, names);
        assert_eq!(name(-32001, &none).as_deref(), Some("reserved server range"));
        assert_eq!(name(-32001, &names).as_deref(), Some("BUILD_FAILED"));
        assert_eq!(name(-32601, &none).as_deref(), Some("Method not found"));
        assert_eq!(name(-32768, &none).as_deref(), Some("reserved range"));
        assert_eq!([-32769, -31999, -32800, 0, 42].map(|code| code_name(code, &none)), [const { None }; 5]);
    }
}
