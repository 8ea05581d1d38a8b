//! The names of methods, each stored once.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::limits::MAX_METHOD_CHARACTERS;

/// Refers to a name in [`Methods`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MethodId(u32);

impl MethodId {
    /// No method.
    pub const NONE: Self = Self(0);

    /// Returns whether there is a method.
    #[must_use]
    pub const fn is_some(self) -> bool {
        self.0 != 0
    }
}

/// The names of methods, with the number of references to each. A name without references is removed.
#[derive(Debug, Default)]
pub struct Methods {
    ids: BTreeMap<Box<str>, MethodId>,
    names: Vec<Name>,
    free: Vec<u32>,
}

#[derive(Debug, Default)]
struct Name {
    text: Box<str>,
    references: u32,
}

impl Methods {
    /// Adds a reference to a name. A long name is shortened.
    pub fn acquire(&mut self, name: &str) -> MethodId {
        let end = name.char_indices().nth(MAX_METHOD_CHARACTERS).map_or(name.len(), |(index, _)| index);
        let name = name.get(..end).unwrap_or(name);
        if let Some(id) = self.ids.get(name) {
            let id = *id;
            self.retain(id);
            return id;
        }
        let entry = Name { text: name.to_owned().into_boxed_str(), references: 1 };
        let number = self.free.pop().unwrap_or_else(|| {
            self.names.push(Name::default());
            self.names.len() as u32
        });
        if let Some(place) = self.names.get_mut(number as usize - 1) {
            *place = entry;
        }
        self.ids.insert(name.into(), MethodId(number));
        MethodId(number)
    }

    /// Adds a reference to a method.
    pub fn retain(&mut self, id: MethodId) {
        if let Some(name) = self.entry_mut(id) {
            name.references += 1;
        }
    }

    /// Removes a reference to a method.
    pub fn release(&mut self, id: MethodId) {
        let Some(name) = self.entry_mut(id) else { return };
        name.references = name.references.saturating_sub(1);
        if name.references == 0 {
            let text = core::mem::take(&mut name.text);
            self.ids.remove(&text);
            self.free.push(id.0);
        }
    }

    /// Returns the name of a method.
    #[must_use]
    pub fn name(&self, id: MethodId) -> Option<&str> {
        let name = self.names.get((id.0 as usize).checked_sub(1)?)?;
        Some(&*name.text).filter(|_| name.references > 0)
    }

    fn entry_mut(&mut self, id: MethodId) -> Option<&mut Name> {
        self.names.get_mut((id.0 as usize).checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_removed_with_its_last_reference() {
        let mut methods = Methods::default();
        let a = methods.acquire("a");
        let b = methods.acquire("b");
        assert_eq!(methods.acquire("a"), a);
        methods.release(a);
        assert_eq!(methods.name(a), Some("a"));
        methods.release(a);
        assert_eq!([methods.name(a), methods.name(b), methods.name(MethodId::NONE)], [None, Some("b"), None]);
        assert_eq!(methods.acquire("c"), a, "the number must be used again");
        assert_eq!(methods.name(a), Some("c"));
    }

    #[test]
    fn long_names_are_shortened_at_a_character() {
        let mut methods = Methods::default();
        let long = methods.acquire(&"é".repeat(10_000));
        assert_eq!(methods.name(long).map(|name| name.chars().count()), Some(MAX_METHOD_CHARACTERS));
        let empty = methods.acquire("");
        assert_eq!((methods.name(empty), empty.is_some()), (Some(""), true));
    }
}
