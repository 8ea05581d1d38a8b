//! Checks the prose of the sources: lines must have at most 120 columns, and comments must not contain certain phrases.
//! Text in backticks and in blocks of code is not checked, because it consists of names.

use anyhow::Result;

use crate::build::files_below;
use crate::lexer::{self, Kind, Piece};
use crate::workspace::Workspace;

const FOLDERS: &[&str] = &["src", "crates", "xtask", "tests", "benches", "fuzz", "examples", "kaiak", "www", "npm"];

const EXTENSIONS: &[&str] = &["rs", "js", "mjs", "cjs", "ts", "tsx"];

/// The names of folders of installed and of built packages.
const EXCLUDED_FOLDERS: &[&str] = &["node_modules", "pkg", "target"];

/// The folders of the built pages and of the built core of the inspector.
const BUILT: [&str; 4] = ["www/dist", "www/inspector/core", "www/inspector/dist", "crates/portway-cli/page/assets"];

const MAX_COLUMNS: usize = 120;

struct Phrase {
    /// One word or several words. A bar separates alternatives.
    words: &'static str,
    /// The phrase is allowed before one of these words. A bar separates the words.
    except_before: &'static str,
    /// Whether the phrase is allowed in questions.
    in_questions: bool,
    /// The advice in the report of a breach.
    advice: &'static str,
}

const PHRASES: &[Phrase] = &[
    Phrase {
        words: "what|who|whom",
        except_before: "",
        in_questions: true,
        advice: "name the thing: the message, the request, the error, the caller, the peer",
    },
    Phrase {
        words: "tell|tells|told|telling|hear|hears|heard|hearing|say|says|said|saying|complain|complains|complained",
        except_before: "",
        in_questions: false,
        advice: "write reports, returns, receives, logs or sends",
    },
    Phrase {
        words: "give|gives|gave",
        except_before: "up|way",
        in_questions: false,
        advice: "write returns, sends or has",
    },
    Phrase { words: "other side", except_before: "", in_questions: false, advice: "write the peer" },
    Phrase {
        words: "nobody|somebody|everybody|anybody|someone|everyone|anyone|whoever|whomever",
        except_before: "",
        in_questions: false,
        advice: "name the module or the role",
    },
];

/// Returns each breach as `file:line: breach and advice`.
pub(crate) fn check(workspace: &Workspace) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        files_below(&workspace.path(folder), &mut files)?;
    }
    files.sort();
    let mut breaches = Vec::new();
    for file in files {
        let name = file.strip_prefix(&workspace.root)?;
        let is_source = !BUILT.iter().any(|folder| name.starts_with(folder))
            && !name.iter().any(|part| EXCLUDED_FOLDERS.iter().any(|folder| part == *folder));
        let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if is_source && EXTENSIONS.contains(&extension) {
            let found = breaches_of(&std::fs::read_to_string(&file)?, extension == "rs");
            breaches.extend(found.into_iter().map(|(line, breach)| format!("{}:{line}: {breach}", name.display())));
        }
    }
    Ok(breaches)
}

/// Returns the line and the text of each breach in one file.
fn breaches_of(source: &str, is_rust: bool) -> Vec<(usize, String)> {
    let pieces = if is_rust { lexer::rust(source) } else { lexer::javascript(source) };
    let mut breaches = long_lines(source, &pieces);
    for paragraph in paragraphs(&pieces) {
        breaches.extend(phrases(&paragraph));
    }
    breaches.sort();
    breaches
}

/// Returns the lines that are too long. The formatters do not break literals. So a line of code is counted without its
/// literals. A comment is counted without a URL at its end.
fn long_lines(source: &str, pieces: &[Piece<'_>]) -> Vec<(usize, String)> {
    let mut breaches = Vec::new();
    let mut start = 0;
    for (index, line) in source.split_inclusive('\n').enumerate() {
        let text = line.trim_end();
        let columns = text.chars().count();
        if columns > MAX_COLUMNS {
            let first = pieces.partition_point(|piece| piece.start + piece.text.len() <= start);
            let on_line = pieces.get(first..).unwrap_or_default().iter();
            let on_line = on_line.take_while(|piece| piece.start < start + text.len());
            let ends_in_comment = on_line.clone().last().is_some_and(|piece| piece.kind == Kind::Comment);
            let unbreakable: usize = if ends_in_comment {
                text.rsplit(' ').next().filter(|word| word.contains("://")).map_or(0, |url| url.chars().count())
            } else {
                let literals = on_line.filter(|piece| piece.kind == Kind::Literal);
                let part = |piece: &Piece<'_>| {
                    let from = start.max(piece.start);
                    source.get(from..(piece.start + piece.text.len()).min(start + text.len()))
                };
                literals.filter_map(part).map(|part| part.chars().count()).sum()
            };
            if columns - unbreakable > MAX_COLUMNS || unbreakable == 0 {
                let breach = format!("a line must have at most {MAX_COLUMNS} columns, got {columns}; break it");
                breaches.push((index + 1, breach));
            }
        }
        start += line.len();
    }
    breaches
}

struct Word<'a> {
    text: &'a str,
    line: usize,
}

/// Returns the words of the comments by paragraph. A paragraph ends at an empty line of a comment, and at code.
fn paragraphs<'a>(pieces: &[Piece<'a>]) -> Vec<Vec<Word<'a>>> {
    let mut paragraphs = vec![Vec::new()];
    let mut in_block = false;
    let mut previous = Kind::Code;
    for piece in pieces {
        if piece.kind == Kind::Comment {
            for (index, line) in piece.text.lines().enumerate() {
                let line_number = piece.line + index;
                let text = without_markers(line);
                let is_fence = text.starts_with("```");
                in_block ^= is_fence;
                if text.is_empty() || is_fence || previous != Kind::Comment {
                    paragraphs.push(Vec::new());
                }
                previous = Kind::Comment;
                if !in_block
                    && !is_fence
                    && let Some(paragraph) = paragraphs.last_mut()
                {
                    paragraph.extend(text.split_whitespace().map(|text| Word { text, line: line_number }));
                }
            }
        } else {
            previous = piece.kind;
            in_block = false;
        }
    }
    paragraphs.into_iter().map(without_code).collect()
}

/// Returns the text of a line of a comment.
fn without_markers(line: &str) -> &str {
    let text = line.trim();
    let text = text.strip_suffix("*/").unwrap_or(text);
    text.trim_start_matches(['/', '*', '!']).trim()
}

/// Replaces each span of code in backticks with an empty word.
fn without_code(words: Vec<Word<'_>>) -> Vec<Word<'_>> {
    let mut in_code = false;
    let mut plain = Vec::new();
    for word in words {
        let has_code = in_code || word.text.contains('`');
        in_code ^= word.text.matches('`').count() % 2 == 1;
        // The text after the span is kept, since it may end the sentence.
        let end = word.text.rfind('`').map_or(word.text.len(), |position| position + 1);
        let text = match (has_code, in_code) {
            (false, _) => word.text,
            (true, false) => word.text.get(end..).unwrap_or_default(),
            (true, true) => "",
        };
        plain.push(Word { text, ..word });
    }
    plain
}

fn phrases(paragraph: &[Word<'_>]) -> Vec<(usize, String)> {
    let plain = |word: &Word<'_>| {
        let text = word.text.trim_matches(|next: char| !next.is_alphanumeric());
        text.strip_suffix("'s").unwrap_or(text).to_lowercase()
    };
    let words: Vec<String> = paragraph.iter().map(plain).collect();
    let mut found = Vec::new();
    for (start, word) in paragraph.iter().enumerate() {
        let rest = words.get(start..).unwrap_or_default();
        for phrase in PHRASES {
            let parts: Vec<&str> = phrase.words.split(' ').collect();
            let matches = |(part, word): (&&str, &String)| part.split('|').any(|alternative| alternative == word);
            let next = rest.get(parts.len()).map_or("", String::as_str);
            let is_found = parts.len() <= rest.len()
                && parts.iter().zip(rest).all(matches)
                && !(phrase.in_questions && is_question(paragraph.get(start..).unwrap_or_default()))
                && (next.is_empty() || !phrase.except_before.split('|').any(|exception| exception == next));
            if is_found {
                let text = rest.get(..parts.len()).unwrap_or_default().join(" ");
                found.push((word.line, format!("a comment must not have \"{text}\": {}", phrase.advice)));
            }
        }
    }
    found
}

/// Returns whether the sentence that continues with `words` ends with a question mark.
fn is_question(words: &[Word<'_>]) -> bool {
    let end = |word: &Word<'_>| word.text.trim_end_matches(['"', '\'', ')', '*', '_']).chars().last();
    words.iter().filter_map(end).find(|last| ['.', '?', '!'].contains(last)) == Some('?')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(source: &str) -> Vec<(usize, String)> {
        breaches_of(source, true)
    }

    fn javascript(source: &str) -> Vec<(usize, String)> {
        breaches_of(source, false)
    }

    /// Returns the line and the phrase of each finding.
    fn found(breaches: Vec<(usize, String)>) -> Vec<(usize, String)> {
        let phrase = |breach: String| breach.split('"').nth(1).unwrap_or(&breach).to_owned();
        breaches.into_iter().map(|(line, breach)| (line, phrase(breach))).collect()
    }

    #[test]
    fn each_phrase_is_found_in_comments_of_rust() {
        for phrase in PHRASES {
            for words in phrase.words.split('|') {
                let source = format!("fn f() {{}}\n/// Returns the {words} of it.\nfn g() {{}} // {words}, or not\n");
                assert_eq!(found(rust(&source)), [(2, words.to_owned()), (3, words.to_owned())], "{source}");
            }
        }
    }

    #[test]
    fn each_phrase_is_found_in_comments_of_javascript() {
        for phrase in PHRASES {
            for words in phrase.words.split('|') {
                let source = format!("/**\n * Returns the {words} of it.\n */\nf(); // {words}\n");
                assert_eq!(found(javascript(&source)), [(2, words.to_owned()), (4, words.to_owned())], "{source}");
            }
        }
    }

    #[test]
    fn a_finding_has_advice() {
        let expected = "a comment must not have \"other side\": write the peer";
        assert_eq!(rust("// Sent to the other side.\n"), [(1, expected.to_owned())]);
    }

    #[test]
    fn a_phrase_is_found_across_lines_but_not_across_paragraphs() {
        assert_eq!(found(rust("// Sent to the other\n// side.\n")), [(1, "other side".to_owned())]);
        assert_eq!(found(rust("// The other side's.\n")), [(1, "other side".to_owned())]);
        assert_eq!(found(rust("// The other\n//\n// side.\n")), []);
        assert_eq!(found(rust("let a = 1; // The other\nlet b = 2; // side\n")), []);
    }

    #[test]
    fn code_in_comments_and_literals_does_not_count() {
        assert_eq!(found(rust("/// Names `what`, `who is it` and `a\n/// whom b`.\nconst A: &str = \"tells\";\n")), []);
        assert_eq!(found(rust("/// ```\n/// let what = 1;\n/// ```\n/// What.\n")), [(4, "what".to_owned())]);
        assert_eq!(found(javascript("f(`// tells ${what}`, /says/, \"// nobody\"); // https://host/what-is\n")), []);
    }

    #[test]
    fn exceptions_and_questions_are_allowed() {
        assert_eq!(found(rust("// It gives up, and later gives 5.\n")), [(1, "gives".to_owned())]);
        assert_eq!(found(rust("// Who is it? It is known who it is.\n")), [(1, "who".to_owned())]);
        assert_eq!(found(rust("// Somewhat whole, essays.\n")), []);
    }

    #[test]
    fn a_long_line_is_found_unless_a_literal_or_a_url_makes_it_long() {
        let lines = |breaches: Vec<(usize, String)>| breaches.into_iter().map(|(line, _)| line).collect::<Vec<_>>();
        let words = "word ".repeat(30);
        assert_eq!(lines(rust(&format!("\n// {words}\n"))), [2]);
        assert_eq!(lines(rust(&format!("{} // {words}\n", "\"a\""))), [1]);
        assert_eq!(lines(rust(&format!("let a = ({});\n", "a + ".repeat(40)))), [1]);
        assert_eq!(lines(rust(&format!("f(\"{words}\", b);\n"))), [0; 0]);
        assert_eq!(lines(rust(&format!("f(\"a\", {});\n", "a + ".repeat(40)))), [1]);
        assert_eq!(lines(rust(&format!("f(\"{words}\"); // b\n"))), [1]);
        assert_eq!(lines(javascript(&format!("f(`{words} ${{a + b}}`,\n `\n{words}`);\n"))), [0; 0]);
        assert_eq!(lines(rust(&format!("// See https://host/{}\n", "a".repeat(120)))), [0; 0]);
        assert_eq!(lines(rust(&format!("// {}\n", "é".repeat(117)))), [0; 0]);
        assert_eq!(lines(rust(&format!("// {}\n", "é".repeat(118)))), [1]);
    }
}
