//! Reads some members of a JSON object as raw text. The other members are skipped without being stored.

use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Returns the members with these names. Names in the text may contain escapes. If several members have the same name,
/// the last member counts. Returns `None` if the text is not a JSON object.
pub fn members<'t, const N: usize>(text: &'t [u8], names: [&str; N]) -> Option<[Option<&'t RawValue>; N]> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let members = Members(names).deserialize(&mut json).ok()?;
    json.end().ok()?;
    Some(members)
}

struct Members<'n, const N: usize>([&'n str; N]);

impl<'t, const N: usize> DeserializeSeed<'t> for Members<'_, N> {
    type Value = [Option<&'t RawValue>; N];

    fn deserialize<D: Deserializer<'t>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'t, const N: usize> Visitor<'t> for Members<'_, N> {
    type Value = [Option<&'t RawValue>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = [None; N];
        while let Some(index) = map.next_key_seed(NameIndex(&self.0))? {
            match index.and_then(|index| members.get_mut(index)) {
                Some(member) => *member = Some(map.next_value()?),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(members)
    }
}

/// Matches a member name, and returns its index among the requested names.
struct NameIndex<'n>(&'n [&'n str]);

impl<'t> DeserializeSeed<'t> for NameIndex<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'t>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for NameIndex<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|wanted| *wanted == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Option<[Option<&str>; 2]> {
        Some(members(text.as_bytes(), ["id", "method"])?.map(|member| member.map(RawValue::get)))
    }

    #[test]
    fn members_are_found_in_any_order_and_with_any_spelling_of_their_names() {
        let text = r#" {"a":[{"id":1}],"m\u0065thod": "x" ,"b":{"method":2},"\u0069d":-1.0,"":null} "#;
        assert_eq!(texts(text), Some([Some("-1.0"), Some("\"x\"")]));
        assert_eq!(texts(r#"{"id":1,"id":null}"#), Some([Some("null"), None]));
        assert_eq!(texts("{}"), Some([None, None]));
    }

    #[test]
    fn a_value_that_is_not_an_object_has_no_members() {
        for text in ["", "[]", "1", "\"id\"", r#"{"id":1}{}"#, r#"{"id":1"#, r#"{"id":}"#, "{id:1}", r#"{"id":1,}"#] {
            assert_eq!(texts(text), None, "{text}");
        }
    }

    /// A peer may send a million members. Only the requested members may be stored.
    #[test]
    fn memory_does_not_grow_with_the_number_of_other_members() {
        let peak_bytes = |others: usize| {
            let others: alloc::string::String =
                (0..others).map(|number| alloc::format!("\"{number}\\n\":{number},")).collect();
            let text = alloc::format!("{{{others}\"id\":7}}");
            let memory = allocation_counter::measure(|| {
                assert_eq!(texts(&text), Some([Some("7"), None]));
            });
            memory.bytes_max
        };
        assert_eq!(peak_bytes(10), peak_bytes(100_000));
    }
}
