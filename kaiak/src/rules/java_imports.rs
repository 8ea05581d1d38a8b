//! The imports of a Java file.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// An import of a Java file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// The name with dots and without spaces and comments. A wildcard is not a part of it.
    pub(crate) name: String,
    pub(crate) is_wildcard: bool,
    pub(crate) is_static: bool,
    /// The range of each identifier of the name in the file.
    pub(crate) parts: Vec<Range<usize>>,
}

impl Import {
    /// Returns the name as it is written, with the wildcard.
    pub(crate) fn full_name(&self) -> String {
        if self.is_wildcard { format!("{}.*", self.name) } else { self.name.clone() }
    }

    /// Returns the names that the import refers to: its whole name, and the classes whose members or nested classes it
    /// imports.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = vec![self.full_name()];
        let mut end = 0;
        for part in self.name.split('.') {
            end += part.len();
            let is_last = end == self.name.len();
            // The class of a static import is the name before the last part, or before the wildcard.
            let is_class_of_static = self.is_static
                && if self.is_wildcard {
                    is_last
                } else {
                    self.name.get(end + 1..).is_some_and(|rest| !rest.contains('.'))
                };
            let is_class = part.starts_with(char::is_uppercase) && (!is_last || self.is_wildcard);
            if is_class || is_class_of_static {
                names.extend(self.name.get(..end).map(str::to_owned));
            }
            end += 1;
        }
        names
    }

    /// Returns the offset of the name in the file.
    pub(crate) fn start(&self) -> usize {
        self.parts.first().map_or(0, |part| part.start)
    }
}

/// The imports of the texts that were parsed last. A fix needs the imports of one text several times, and the result of
/// a fix is usually the text of the next fix.
#[derive(Debug, Default)]
pub(crate) struct ImportCache(Mutex<VecDeque<(String, Arc<Vec<Import>>)>>);

impl ImportCache {
    /// Returns the imports of a Java file, see [`imports`].
    pub(crate) fn imports(&self, text: &str) -> Arc<Vec<Import>> {
        /// The texts before and after a fix.
        const TEXTS: usize = 2;
        let mut parsed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = parsed.iter().find(|(known, _)| known == text) {
            return Arc::clone(known);
        }
        let imports = Arc::new(imports(text));
        if parsed.len() == TEXTS {
            parsed.pop_front();
        }
        parsed.push_back((text.to_owned(), Arc::clone(&imports)));
        imports
    }
}

/// Returns whether a file with this name is read as Java.
pub(crate) fn is_java(name: &str) -> bool {
    name.ends_with(".java")
}

/// Returns the imports of a Java file. Text in comments and in literals is not an import. The search ends at the first
/// brace that is not in parentheses, since imports are before the first class.
pub(crate) fn imports(text: &str) -> Vec<Import> {
    let mut tokens = Tokens { text, position: 0 };
    let mut imports = Vec::new();
    let mut parentheses = 0_usize;
    while let Some(token) = tokens.next() {
        match token.text {
            "(" => parentheses += 1,
            ")" => parentheses = parentheses.saturating_sub(1),
            "{" if parentheses == 0 => break,
            "import" if parentheses == 0 => imports.extend(import(&mut tokens)),
            _ => {}
        }
    }
    imports
}

/// Parses the rest of an import. Returns `None` if it is incomplete.
fn import(tokens: &mut Tokens<'_>) -> Option<Import> {
    let mut import = Import { name: String::new(), is_wildcard: false, is_static: false, parts: Vec::new() };
    let mut token = tokens.next()?;
    if token.text == "static" {
        import.is_static = true;
        token = tokens.next()?;
    }
    loop {
        if token.text == "*" && !import.parts.is_empty() {
            import.is_wildcard = true;
        } else if token.is_identifier {
            if !import.parts.is_empty() {
                import.name.push('.');
            }
            import.name.push_str(token.text);
            import.parts.push(token.start..token.start + token.text.len());
        } else {
            return None;
        }
        token = tokens.next()?;
        match token.text {
            ";" => return (!import.parts.is_empty()).then_some(import),
            "." if !import.is_wildcard => token = tokens.next()?,
            _ => return None,
        }
    }
}

struct Token<'a> {
    start: usize,
    text: &'a str,
    is_identifier: bool,
}

/// The tokens of a Java file. A literal is one token, and comments are skipped.
struct Tokens<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Tokens<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.position..).unwrap_or_default()
    }

    /// Skips bytes of ASCII. Most bytes of a Java file need no decoding.
    fn skip_ascii(&mut self, is_skipped: impl Fn(&u8) -> bool) {
        let rest = self.text.as_bytes().get(self.position..).unwrap_or_default();
        self.position += rest.iter().position(|byte| !is_skipped(byte)).unwrap_or(rest.len());
    }

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            self.skip_ascii(|byte| byte.is_ascii_whitespace());
            let rest = self.rest();
            let first = rest.chars().next()?;
            if first.is_whitespace() || first == '\u{feff}' {
                self.position += first.len_utf8();
            } else if rest.starts_with("//") {
                self.position += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                self.position += comment.find("*/").map_or(rest.len(), |end| end + 4);
            } else {
                break;
            }
        }
        let (rest, start) = (self.rest(), self.position);
        let first = rest.chars().next()?;
        let is_identifier = is_identifier_part(first);
        let length = match first {
            '"' if rest.starts_with("\"\"\"") => 3 + literal_length(rest.get(3..).unwrap_or_default(), "\"\"\"", false),
            '"' => 1 + literal_length(rest.get(1..).unwrap_or_default(), "\"", true),
            '\'' => 1 + literal_length(rest.get(1..).unwrap_or_default(), "'", true),
            _ if is_identifier => {
                self.skip_ascii(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'));
                let rest = self.rest();
                let length = match rest.bytes().next() {
                    // An identifier may continue with characters beyond ASCII.
                    Some(0x80..) => rest.find(|next| !is_identifier_part(next)).unwrap_or(rest.len()),
                    _ => 0,
                };
                let length = self.position - start + length;
                self.position = start;
                length
            }
            _ => first.len_utf8(),
        };
        self.position += length;
        Some(Token { start, text: rest.get(..length).unwrap_or_default(), is_identifier })
    }
}

fn is_identifier_part(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}

/// Returns the length of a literal after its opening quotes, with its closing quotes. A literal on one line ends at the
/// end of the line, if its closing quote is missing.
fn literal_length(text: &str, end: &str, is_on_one_line: bool) -> usize {
    let mut position = 0;
    while let Some(rest) = text.get(position..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(end) {
            return position + end.len();
        }
        let mut characters = rest.chars();
        position += match characters.next() {
            Some('\n') if is_on_one_line => return position,
            Some('\\') => 1 + characters.next().map_or(0, char::len_utf8),
            character => character.map_or(0, char::len_utf8),
        };
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        imports(text).iter().map(Import::full_name).collect()
    }

    #[test]
    fn imports_have_their_names_without_comments_and_spaces() {
        let text = "\u{feff}package a;\r\nimport  b . c /* import x.y; */ .\n D ;import static e.F.*;\n";
        assert_eq!(names(text), ["b.c.D", "e.F.*"]);
        assert_eq!(names("import aé.bü2_$.É;\u{a0}import\u{2003}c.D\u{b}é;"), ["aé.bü2_$.É"]);
    }

    #[test]
    fn comments_and_literals_are_not_imports() {
        let text = "// import a.B;\n/* import c.D;\n*/ @X(\"import e.F; \\\" import g.H;\") package i;\n\
                    @Y(\"\"\"\nimport j.K; \" import l.M;\n\"\"\") @Z({'\"', \"(\"})\nimport n.O;";
        assert_eq!(names(text), ["n.O"]);
    }

    #[test]
    fn a_cache_returns_the_imports_of_its_text() {
        let cache = ImportCache::default();
        for text in ["import a.B;", "import a.C;", "import a.B;", "import a.D;", "import a.C;", ""] {
            assert_eq!(*cache.imports(text), imports(text), "{text}");
        }
    }

    #[test]
    fn the_search_ends_at_the_first_class() {
        assert_eq!(names("import a.B; class C { void import() { import d.E; } }\nimport f.G;"), ["a.B"]);
    }

    #[test]
    fn incomplete_imports_are_omitted() {
        assert_eq!(names("import ;import .a;import a.;import a..b;import b.*.c;import a;import"), ["a"]);
        assert_eq!(names("import a.\"b"), [""; 0]);
    }

    #[test]
    fn the_import_of_a_member_also_names_its_class() {
        let found: Vec<_> = imports("import static a.B.c; import a.B.D; import static a.b.c; import a.B.*;")
            .iter()
            .map(Import::names)
            .collect();
        let expected: [&[&str]; 4] = [&["a.B.c", "a.B"], &["a.B.D", "a.B"], &["a.b.c", "a.b"], &["a.B.*", "a.B"]];
        assert_eq!(found, expected);
    }

    #[test]
    fn parsing_ends_for_any_text() {
        for text in ["\"", "'\\", "/*", "\"\"\"\\", "import static", "import a.*", "@", "é\u{301}import"] {
            let _ = imports(text);
        }
    }
}
