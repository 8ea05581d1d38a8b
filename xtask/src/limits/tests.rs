//! The formats of values, the generated lines, and the problems of a table.

use super::*;

fn table(rows: &str) -> Result<Table> {
    Ok(toml::from_str(rows)?)
}

const ROW: &str = r#"
    [[limit]]
    name = "calls"
    what = "own calls that wait"
    value = 1_000_000
    unit = "calls"
    on = ["js", "rust-web", "native"]
    field = "calls"
    limit = "calls"
    doc = "Own calls that may wait."
    option = { js = "limits.calls", rust = "Limits::calls" }
    const.js = "MAX_CALLS"
    const.native = "MAX_CALLS"
    beyond = "it fails"
    why = "memory"
    readme = true
    tests.js = "xtask/src/limits/tests.rs"
    tests.native = "xtask/src/limits/tests.rs: the_table_of_the_repository_is_sound"
"#;

#[test]
fn values_are_formatted_for_each_file() {
    assert_eq!(
        (grouped(1_048_576, "_"), grouped(128, "_"), grouped(1_024, " ")),
        ("1_048_576".into(), "128".into(), "1 024".into())
    );
    let cases = [
        (1_300, "ms", "1.3 s"),
        (100, "ms", "100 ms"),
        (16_777_216, "bytes", "16 MiB"),
        (8_192, "bytes", "8 KiB"),
        (4_294_967_295, "bytes", "4 294 967 295 bytes"),
        (60, "× the timeout", "60 × the timeout"),
        (1_024, "characters", "1 024"),
    ];
    for (value, unit, text) in cases {
        assert_eq!(with_unit(value, unit), text);
    }
}

#[test]
fn a_row_is_a_constant_a_field_an_option_and_a_line_of_the_readme() -> Result<()> {
    let table = table(ROW)?;
    assert!(
        table
            .rust("native")
            .ends_with("\n\n/// Own calls that wait.\npub(crate) const MAX_CALLS: usize = 1_000_000;\n")
    );
    assert!(table.javascript().ends_with("DEFAULTS = { calls: 1_000_000 };\n"));
    assert_eq!(table.fields(), "    /// Own calls that may wait. Default 1 000 000.\n    pub calls: usize,\n");
    assert_eq!(table.defaults(), "        calls: 1_000_000,\n");
    assert_eq!(
        table.declarations(),
        "  /** Own calls that may wait. Default 1 000 000. */\n  calls?: number | undefined;\n"
    );
    assert!(
        table.readme().ends_with(
            "| own calls that wait | everywhere | 1 000 000 | `Limits::calls`, `limits.calls` | it fails |\n"
        )
    );
    Ok(())
}

#[test]
fn the_readme_names_the_places_of_a_limit() -> Result<()> {
    let in_browsers = table(&ROW.replace(r#""rust-web", "native""#, r#""rust-web""#))?;
    assert!(in_browsers.readme().contains("| JavaScript, Rust in browsers |"));
    Ok(())
}

#[test]
fn rows_without_a_test_or_a_doc_and_duplicate_rows_are_problems() -> Result<()> {
    let workspace = Workspace::find()?;
    assert_eq!(table(ROW)?.problems(&workspace), Vec::<String>::new());
    let problem_count =
        |from: &str, to: &str| -> Result<usize> { Ok(table(&ROW.replace(from, to))?.problems(&workspace).len()) };
    assert_eq!(problem_count("xtask/src/limits/tests.rs: the", "no-such-file.rs: the")?, 1);
    assert_eq!(problem_count("tests.native", "tests.commands")?, 1);
    assert_eq!(problem_count("doc = \"Own calls that may wait.\"", "")?, 1);
    assert_eq!(problem_count("const.native", "const.nowhere")?, 1);
    assert_eq!(problem_count("doc = \"Own calls that may wait.\"", "const.core = \"MAX\"")?, 2);
    assert_eq!(table(&format!("{ROW}{ROW}"))?.problems(&workspace).len(), 3);
    Ok(())
}

#[test]
fn only_the_lines_between_the_marks_are_replaced() -> Result<()> {
    let text = "a\n  // begin\n  old\n  old\n  // end\nb\n";
    assert_eq!(spliced(text, "// begin", "// end", "  new\n")?, "a\n  // begin\n  new\n  // end\nb\n");
    assert!(spliced(text, "// start", "// end", "").is_err());
    Ok(())
}

#[test]
fn the_table_of_the_repository_is_sound() -> Result<()> {
    assert_eq!(check(&Workspace::find()?)?, Vec::<String>::new());
    Ok(())
}
