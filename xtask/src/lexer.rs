//! Splits Rust and JavaScript into code, comments and literals. The result is exact enough for the checks of xtask, but
//! not for a compiler.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier, a number, `::` in Rust, or one other character. White space is not part of any piece.
    Code,
    /// One `//` comment without its line break, or one block comment.
    Comment,
    /// A string, a character, a regular expression, a part of a template, or code in a placeholder of a template.
    Literal,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    /// The position of the first byte in the source.
    pub(crate) start: usize,
    /// The line of the first byte. The first line is 1.
    pub(crate) line: usize,
}

/// Returns the pieces of a Rust file.
pub(crate) fn rust(source: &str) -> Vec<Piece<'_>> {
    split(source, |rest, first, _| rust_piece(rest, first))
}

/// Returns the pieces of a JavaScript or TypeScript file. Text between the tags of JSX is read as code.
pub(crate) fn javascript(source: &str) -> Vec<Piece<'_>> {
    // The number of open braces in each open placeholder of a template.
    let mut placeholders: Vec<usize> = Vec::new();
    split(source, |rest, first, previous| {
        if rest.starts_with("//") || rest.starts_with("/*") {
            let end = if rest.starts_with("//") { rest.find('\n') } else { rest.find("*/").map(|end| end + 2) };
            return (Kind::Comment, end.unwrap_or(rest.len()));
        }
        let is_template = match (first, placeholders.last_mut()) {
            ('`', _) => true,
            ('}', Some(0)) => placeholders.pop().is_some(),
            ('}', Some(braces)) => {
                *braces -= 1;
                false
            }
            ('{', Some(braces)) => {
                *braces += 1;
                false
            }
            _ => false,
        };
        if is_template {
            let (length, is_open) = template_length(rest);
            if is_open {
                placeholders.push(0);
            }
            return (Kind::Literal, length);
        }
        let length = match first {
            '"' | '\'' => within_line(rest).and_then(|line| quoted_length(line, first)),
            '/' if may_precede_regex(previous) => within_line(rest).and_then(regex_length),
            _ => None,
        };
        if let Some(length) = length {
            return (Kind::Literal, length);
        }
        let kind = if placeholders.is_empty() { Kind::Code } else { Kind::Literal };
        let is_word = |next: char| next.is_alphanumeric() || next == '_' || next == '$';
        let length = if is_word(first) { rest.find(|next| !is_word(next)).unwrap_or(rest.len()) } else { 0 };
        (kind, length.max(first.len_utf8()))
    })
}

/// Splits a source. `piece` returns the kind and the length of the next piece. The arguments of `piece` are the rest of
/// the source, the first character of the rest, and the previous piece that is not a comment.
fn split<'a>(source: &'a str, mut piece: impl FnMut(&str, char, Option<Piece<'a>>) -> (Kind, usize)) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let mut previous = None;
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else {
            let (kind, length) = piece(rest, first, previous);
            let text = rest.get(..length).unwrap_or(rest);
            let next = Piece { kind, text, start: source.len() - rest.len(), line };
            if kind != Kind::Comment {
                previous = Some(next);
            }
            pieces.push(next);
            text.len()
        };
        let (text, after) = rest.split_at(length);
        line += text.matches('\n').count();
        rest = after;
    }
    pieces
}

/// Returns the kind and the length of the piece at the start of `rest`. `first` is the first character of `rest`.
fn rust_piece(rest: &str, first: char) -> (Kind, usize) {
    if rest.starts_with("//") {
        return (Kind::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Kind::Comment, block_comment_length(rest));
    }
    if let Some(length) = raw_string_length(rest) {
        return (Kind::Literal, length);
    }
    if first == '"' {
        return (Kind::Literal, quoted_length(rest, '"').unwrap_or(rest.len()));
    }
    if first == '\'' {
        // A lifetime has no closing quote after its first character.
        let inner = rest.get(1..).unwrap_or_default();
        let is_character = inner.starts_with('\\') || inner.chars().nth(1) == Some('\'');
        let length = if is_character { quoted_length(rest, '\'') } else { None };
        return length.map_or((Kind::Code, 1), |length| (Kind::Literal, length));
    }
    if first.is_alphanumeric() || first == '_' {
        let end = rest.find(|next: char| !next.is_alphanumeric() && next != '_');
        return (Kind::Code, end.unwrap_or(rest.len()));
    }
    (Kind::Code, if rest.starts_with("::") { 2 } else { first.len_utf8() })
}

/// Returns the length of `r"…"`, `r#"…"#` and so on, with an optional `b` or `c` in front.
fn raw_string_length(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix(['b', 'c']).unwrap_or(rest).strip_prefix('r')?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let text = body.get(hashes..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = text.find(&end).map_or(text.len(), |position| position + end.len());
    Some(rest.len() - text.len() + length)
}

/// Returns the length of the literal at the start of `rest`, with its two quotes. A backslash escapes the next
/// character. Returns `None` if the closing quote is missing.
fn quoted_length(rest: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (position, next) in rest.char_indices().skip(1) {
        match next {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if next == quote => return Some(position + 1),
            _ => {}
        }
    }
    None
}

/// Returns the length of a block comment of Rust. Block comments nest.
fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0;
    let mut position = 0;
    while let Some(here) = rest.get(position..).filter(|here| !here.is_empty()) {
        if here.starts_with("/*") {
            depth += 1;
            position += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            position += 2;
            if depth == 0 {
                return position;
            }
        } else {
            position += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Returns `rest` up to the first line break that no backslash escapes.
fn within_line(rest: &str) -> Option<&str> {
    let is_end = |&(position, _): &(usize, &str)| !rest.get(..position).unwrap_or_default().ends_with('\\');
    let end = rest.match_indices('\n').find(is_end).map_or(rest.len(), |(position, _)| position);
    rest.get(..end)
}

/// Returns the length of the part of a template at the start of `rest`, and whether a placeholder follows. The part
/// begins with a backtick, or with the brace that closes a placeholder.
fn template_length(rest: &str) -> (usize, bool) {
    let mut is_escaped = false;
    for (position, next) in rest.char_indices().skip(1) {
        match next {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '`' => return (position + 1, false),
            '$' if rest.get(position..).is_some_and(|here| here.starts_with("${")) => return (position + 2, true),
            _ => {}
        }
    }
    (rest.len(), false)
}

/// Returns whether a `/` after `previous` begins a regular expression. Otherwise, the `/` is a division.
fn may_precede_regex(previous: Option<Piece<'_>>) -> bool {
    const WORDS: &[&str] =
        &["return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "do", "else", "yield", "await"];
    let Some(previous) = previous else { return true };
    let is_word = previous.text.ends_with(|last: char| last.is_alphanumeric() || last == '_' || last == '$');
    if is_word {
        return WORDS.contains(&previous.text);
    }
    // An expression follows after `${` in a template.
    previous.text.ends_with("${") || (!previous.text.ends_with([')', ']', '}', '"', '\'', '`', '/']))
}

/// Returns the length of the regular expression at the start of `line`, without its flags. A slash in brackets is a
/// part of the expression.
fn regex_length(line: &str) -> Option<usize> {
    let mut is_escaped = false;
    let mut in_class = false;
    for (position, next) in line.char_indices().skip(1) {
        match next {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => return Some(position + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comments(pieces: Vec<Piece<'_>>) -> Vec<(usize, &str)> {
        let comments = pieces.into_iter().filter(|piece| piece.kind == Kind::Comment);
        comments.map(|piece| (piece.line, piece.text)).collect()
    }

    #[test]
    fn comments_of_rust_are_found_beside_literals_that_look_like_comments() {
        let source =
            "//! a\nlet b = \"// no\"; // c\nlet d = r#\"/* no \"// no\"#; /* e /* f */\n */ let g = '\"'; // h\n";
        let expected = [(1, "//! a"), (2, "// c"), (3, "/* e /* f */\n */"), (4, "// h")];
        assert_eq!(comments(rust(source)), expected);
        assert_eq!(comments(rust("fn f<'a>(x: &'a str) {} // a\nlet c = '\\''; // b")), [(1, "// a"), (2, "// b")]);
    }

    #[test]
    fn comments_of_javascript_are_found_beside_strings_and_regexes_that_look_like_comments() {
        let source = "const a = \"// no\" + '/* no \\' // no'; // b\n/** c\n * d */ x = /[/]\\/\\/ \"/.test(y); // e";
        assert_eq!(comments(javascript(source)), [(1, "// b"), (2, "/** c\n * d */"), (3, "// e")]);
        // A division is not the start of a regular expression.
        assert_eq!(comments(javascript("x = a / b; // c / d\ny = f(a) / 2; // e")), [(1, "// c / d"), (2, "// e")]);
        assert_eq!(
            comments(javascript("return /'/.test(a); // b\nlet c = a[0] / 2 / d; // '")),
            [(1, "// b"), (2, "// '")]
        );
    }

    #[test]
    fn comments_of_javascript_are_found_beside_templates() {
        let source = "const a = `// no ${b(`/* ${c} no`, { d: {} }, '}')} // no`; // e\nconst f = `g\n// no\n`; // h\n";
        assert_eq!(comments(javascript(source)), [(1, "// e"), (4, "// h")]);
        assert_eq!(comments(javascript("x = `a ${b /* c */} // no`; // d")), [(1, "/* c */"), (1, "// d")]);
    }

    #[test]
    fn each_piece_has_its_kind_and_position() {
        let kinds = |pieces: Vec<Piece<'_>>| -> Vec<(Kind, usize)> {
            pieces.into_iter().map(|piece| (piece.kind, piece.start)).collect()
        };
        let expected = [(Kind::Code, 0), (Kind::Literal, 2), (Kind::Code, 5), (Kind::Comment, 7)];
        assert_eq!(kinds(rust("a \"b\"; // c")), expected);
        assert_eq!(kinds(javascript("a 'b'; // c")), expected);
        // The code in a placeholder is also a literal, because the formatter does not break this code.
        let all = javascript("`a ${b + 1} c`");
        assert!(all.iter().all(|piece| piece.kind == Kind::Literal), "{all:?}");
    }
}
