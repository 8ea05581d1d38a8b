//! Tool permissions: whether a tool may run, must be approved, or may not run.

use std::collections::BTreeMap;

use serde::Serialize;

/// The permission of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Permission {
    /// The tool runs.
    Allow,
    /// The tool runs after the client has approved it.
    Approve,
    /// The tool never runs.
    Deny,
}

impl Permission {
    /// The names of all permissions.
    pub(crate) const NAMES: [&str; 3] = ["allow", "approve", "deny"];

    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "allow" => Some(Self::Allow),
            "approve" => Some(Self::Approve),
            "deny" => Some(Self::Deny),
            _ => None,
        }
    }
}

/// The tools of the contract.
pub(crate) mod tool {
    pub(crate) const READ_FILE: &str = "read_file";
    pub(crate) const WRITE_FILE: &str = "write_file";
    pub(crate) const SHELL_COMMAND: &str = "shell_command";
    pub(crate) const WEB_SEARCH: &str = "web_search";
}

/// The permissions by the names of tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Permissions(pub(crate) BTreeMap<String, Permission>);

impl Default for Permissions {
    fn default() -> Self {
        let permissions = [
            (tool::READ_FILE, Permission::Allow),
            (tool::WRITE_FILE, Permission::Approve),
            (tool::SHELL_COMMAND, Permission::Approve),
            (tool::WEB_SEARCH, Permission::Approve),
        ];
        Self(permissions.map(|(name, permission)| (name.to_owned(), permission)).into())
    }
}

impl Permissions {
    /// Returns the permission of a tool with the name `own_name` and the kind `kind`. A permission for the name has
    /// precedence over a permission for the kind. A tool without a permission must be approved.
    pub(crate) fn of(&self, own_name: Option<&str>, kind: &str) -> Permission {
        let configured = |name| self.0.get(name).copied();
        own_name.and_then(configured).or_else(|| configured(kind)).unwrap_or(Permission::Approve)
    }
}

#[cfg(test)]
mod tests {
    use super::{Permission, Permissions};

    #[test]
    fn the_name_of_a_tool_has_precedence_over_its_kind_and_an_unknown_tool_must_be_approved() {
        let configured = [("write_file", Permission::Deny), ("replace", Permission::Allow)];
        let permissions = Permissions(configured.map(|(name, permission)| (name.to_owned(), permission)).into());
        assert_eq!(permissions.of(Some("replace"), "write_file"), Permission::Allow);
        assert_eq!(permissions.of(Some("create"), "write_file"), Permission::Deny);
        assert_eq!(permissions.of(None, "write_file"), Permission::Deny);
        assert_eq!(permissions.of(Some("create"), "read_file"), Permission::Approve);
    }
}
