//! The places that rules find.

use std::time::{Duration, Instant};

use kaiak::rules::{Severity, find};
use kaiak::workspace::Workspace;

use crate::project::{Project, content_rule, import_rule};

fn place(rule: &str, path: &str, line: impl Into<Option<u32>>) -> (String, String, Option<u32>) {
    (rule.to_owned(), path.to_owned(), line.into())
}

#[test]
fn each_line_with_matches_is_one_incident() {
    let project = Project::new(&content_rule("a", "b."))
        .with("x.txt", "a\r\nb1b2\r\n\r\nb3")
        .with("y.txt", "b4\n")
        .with("z", "b");
    assert_eq!(project.places(), [place("a", "x.txt", 2), place("a", "x.txt", 4), place("a", "y.txt", 1)]);
}

#[test]
fn a_content_pattern_matches_the_ends_of_lines_and_spans_lines() {
    let project = Project::new(&(content_rule("a", "^b$") + &content_rule("c", "b\\s+c") + &content_rule("d", "b.*c")))
        .with("x.txt", "a\r\nb\r\nc\r\n");
    assert_eq!(project.places(), [place("a", "x.txt", 2), place("c", "x.txt", 2)]);
}

#[test]
fn a_file_pattern_matches_names_and_paths() {
    let rule = |id: &str, files: &str| {
        format!(
            "- ruleID: {id}\n  message: m\n  when:\n    builtin.filecontent: {{pattern: a, filePattern: '{files}'}}\n"
        )
    };
    let rules = [rule("name", "x\\.xml"), rule("any", ".*\\.xml"), rule("path", "/b/.*\\.xml$"), rule("glob", "*.xml")];
    let project = Project::new(&rules.concat()).with("x.xml", "a").with("b/xx.xml", "a").with("b/y.txt", "a");
    let expected = [
        place("name", "x.xml", 1),
        place("any", "b/xx.xml", 1),
        place("any", "x.xml", 1),
        place("path", "b/xx.xml", 1),
        place("glob", "b/xx.xml", 1),
        place("glob", "x.xml", 1),
    ];
    assert_eq!(project.places(), expected);
}

#[test]
fn builtin_file_finds_files_without_lines() {
    let rule = "- ruleID: a\n  message: m\n  when:\n    builtin.file: {pattern: 'ra\\.xml'}\n";
    let project = Project::new(rule).with("META-INF/ra.xml", [0, 255]).with("extra.xml", "").with("ra.xml.bak", "");
    assert_eq!(project.places(), [place("a", "META-INF/ra.xml", None)]);
}

#[test]
fn imports_are_found_in_java_files_only() {
    let rules = import_rule("class", "a.b.C") + &import_rule("below", "a.b*") + &import_rule("or", "a.(x|y).Z");
    let text = "package p;\nimport a.b.C;\n// import a.b.C;\nimport static a.b.C.d;\nimport a.b.*;\nimport a.x.Z;\n\
                import a.bc.D;\nclass E { String s = \"import a.b.C;\"; }\n";
    let project = Project::new(&rules).with("E.java", text).with("E.txt", text);
    let expected = [
        place("class", "E.java", 2),
        place("class", "E.java", 4),
        place("below", "E.java", 2),
        place("below", "E.java", 4),
        place("below", "E.java", 5),
        place("below", "E.java", 7),
        place("or", "E.java", 6),
    ];
    assert_eq!(project.places(), expected);
}

#[test]
fn conditions_are_combined_over_all_files() {
    let when = |id: &str, when: &str| format!("- ruleID: {id}\n  message: m\n  when:\n{when}");
    let (a, b) = ("builtin.filecontent: {pattern: aa}", "builtin.filecontent: {pattern: bb}");
    let none = "builtin.filecontent: {pattern: zz}";
    let rules = [
        when("or", &format!("    or:\n    - {a}\n    - {none}\n")),
        when("and", &format!("    and:\n    - {a}\n    - {b}\n")),
        when("and-none", &format!("    and:\n    - {a}\n    - {none}\n")),
        when("and-not", &format!("    and:\n    - {a}\n    - not: true\n      {none}\n")),
        when("and-not-true", &format!("    and:\n    - {a}\n    - not: true\n      {b}\n")),
        when("ignore", &format!("    and:\n    - {a}\n    - ignore: true\n      {b}\n")),
        when("nested", &format!("    or:\n    - and:\n      - {a}\n      - {none}\n    - and:\n      - {b}\n")),
    ];
    let project = Project::new(&rules.concat()).with("1.txt", "aa").with("2.txt", "bb");
    let expected = [
        place("or", "1.txt", 1),
        place("and", "1.txt", 1),
        place("and", "2.txt", 1),
        place("and-not", "1.txt", 1),
        place("ignore", "1.txt", 1),
        place("nested", "2.txt", 1),
    ];
    assert_eq!(project.places(), expected);
}

#[test]
fn include_and_exclude_patterns_select_the_files() {
    let project = Project::new(&content_rule("a", "x"))
        .with("src/a.txt", "x")
        .with("src/deep/b.txt", "x")
        .with("c.txt", "x")
        .with("src/gen/d.txt", "x")
        .with("target/e.txt", "x");
    let owned = |patterns: &[&str]| patterns.iter().map(|pattern| (*pattern).to_owned()).collect::<Vec<_>>();
    for (include, exclude, expected) in [
        (&["src/**"][..], &["src/gen/**"][..], &["src/a.txt", "src/deep/b.txt"][..]),
        (&["*.txt"], &[], &["c.txt"]),
        (&["**/*.txt"], &["**/deep/*", "target/**"], &["c.txt", "src/a.txt", "src/gen/d.txt"]),
        (&["./src/*"], &[], &["src/a.txt"]),
    ] {
        let workspace = Workspace::open(&project.root(), &owned(include), &owned(exclude)).unwrap();
        let findings = find(&project.load().0, &workspace).unwrap();
        let paths: Vec<_> = findings.incidents.iter().map(|incident| incident.path.as_str()).collect();
        assert_eq!(paths, expected, "{include:?} {exclude:?}");
    }
}

#[test]
fn incidents_have_the_members_of_a_request() {
    let rule = "- ruleID: a\n  description: d\n  message: 'Use {{to}} for {{ from }}'\n  effort: 3\n  category: mandatory\n  \
                customVariables:\n  - {name: from, nameOfCaptureGroup: f, pattern: 'x=(?P<f>\\w+)'}\n  \
                - {name: to, nameOfCaptureGroup: t, pattern: 'y=(?P<t>\\w+)', defaultValue: z}\n  \
                when:\n    builtin.filecontent: {pattern: 'x='}\n";
    let project = Project::new(rule).with("a b.txt", "\nx=1\nx=2");
    let incidents = project.incidents();
    let json = serde_json::to_value(&incidents[1]).unwrap();
    let uri = format!("file://{}/a%20b.txt", project.root().canonicalize().unwrap().display());
    let expected = serde_json::json!({
        "id": "a:2", "rule_id": "a", "message": "Use z for 2", "description": "d", "effort": "3",
        "severity": "error", "uri": uri, "lineNumber": 3,
    });
    assert_eq!(json, expected);
    assert_eq!(incidents[0].severity, Severity::Error);
    assert_eq!(incidents[0].message, "Use z for 1");
}

#[test]
fn long_messages_are_cut_to_the_limits_of_a_request() {
    let long = "é".repeat(6_000);
    let rule = format!(
        "- ruleID: {}\n  description: {long}\n  message: {long}\n  when:\n    builtin.filecontent: {{pattern: x}}\n",
        "r".repeat(255)
    );
    let incident = Project::new(&rule).with("a", "x").incidents().remove(0);
    assert_eq!(incident.message.chars().count(), 1_000);
    assert_eq!(incident.description.chars().count(), 5_000);
    assert!(incident.id.chars().count() <= 255);
}

#[test]
fn files_that_are_not_text_are_named_or_counted_and_are_found_by_their_paths() {
    let file = "- ruleID: b\n  message: m\n  when:\n    builtin.file: {pattern: '^l.*'}\n";
    let project = Project::new(&(content_rule("a", "x") + file))
        .with("binary", b"x\0")
        .with("latin1", b"x\xe9")
        .with("large", vec![b'x'; 2 * 1024 * 1024 + 1])
        .with("utf16", b"\xff\xfex\0")
        .with("bom", "\u{feff}x");
    assert_eq!(project.places(), [place("a", "bom", 1), place("b", "large", None), place("b", "latin1", None)]);
    let findings = find(&project.load().0, &project.workspace()).unwrap();
    let problems: Vec<_> = findings.problems.iter().map(ToString::to_string).collect();
    let expected = [
        "large: the file must have at most 2097152 bytes",
        "latin1: the file must be text in UTF-8",
        "utf16: the file must be text in UTF-8",
    ];
    assert_eq!((problems, findings.binary_files), (expected.map(str::to_owned).to_vec(), 1));
}

#[test]
fn the_search_for_a_pattern_with_exponential_backtracking_ends() {
    let project = Project::new(&content_rule("a", "(a*)*b(a|aa)+$")).with("a.txt", "a".repeat(100_000) + "!");
    let start = Instant::now();
    assert_eq!(project.places(), []);
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn a_search_whose_time_is_quadratic_ends_and_names_the_rule() {
    let project = Project::new(&(content_rule("slow", "(?s)a.*b|a") + &content_rule("other", "x")))
        .with("a.txt", "a".repeat(2_000_000))
        .with("x.txt", "x");
    let start = Instant::now();
    let findings = find(&project.load().0, &project.workspace()).unwrap();
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    let problems: Vec<_> = findings.problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems, ["a.txt: the search of the rule slow takes too long, so the file is skipped"]);
    assert_eq!(findings.incidents.len(), 1);
}

#[test]
fn a_folder_that_is_too_deep_is_named() {
    let path = |depth: usize| format!("{}x", "d/".repeat(depth));
    let project = Project::new(&content_rule("a", "x")).with(&path(128), "x").with(&path(129), "x");
    let findings = find(&project.load().0, &project.workspace()).unwrap();
    let paths: Vec<_> = findings.incidents.iter().map(|incident| incident.path.as_str()).collect();
    assert_eq!(paths, [path(128)]);
    let problems: Vec<_> = findings.problems.iter().map(ToString::to_string).collect();
    let message = "folders must be nested at most 128 deep, so this folder is skipped";
    assert_eq!(problems, [format!("{}: {message}", path(129).trim_end_matches("/x"))]);
}
