//! Fixes of rules, from tables and from messages.

use std::fs;

use kaiak::rules::{FixError, FixOptions, Operation, Risk, Target, plan_fix};
use kaiak::workspace::{ErrorKind, Workspace};

use crate::project::{Project, content_rule, import_rule, snapshot};

fn table(id: &str, fix: &str) -> String {
    format!("- ruleID: {id}\n  fixes: [{{risk: low, {fix}}}]\n")
}

#[test]
fn rename_import_changes_only_imports() {
    let text = "package p;\r\n\r\n// import old.A;\r\nimport old.A;\r\nimport  static\told . sub . B.c ; // old.A\r\n\
                import older.D;\r\nimport old.*;\r\nclass E { old.A a = \"old.A\"; }";
    let project = Project::new(&import_rule("a", "old*"))
        .with_fixes(&table("a", "rename-import: {from: old, to: new.name}"))
        .with("E.java", text);
    let left = project.fix();
    let expected = text
        .replace("\nimport old.A;", "\nimport new.name.A;")
        .replace("old . sub . B", "new.name . sub . B")
        .replace("import old.*", "import new.name.*");
    assert_eq!(project.read("E.java"), expected);
    assert_eq!(left, ["E.java:6: a: the import older.D stays, since the table has no new name for it"]);
}

#[test]
fn classes_of_java_se_stay_and_mixed_wildcards_are_named() {
    let text = "import javax.xml.parsers.SAXParser;\nimport javax.xml.bind.JAXB;\nimport javax.xml.*;\n\
                import javax.annotation.*;\nimport javax.transaction.xa.XAResource;\nimport javax.servlet.*;\n";
    let project = Project::new(&import_rule("a", "javax*"))
        .with_fixes(&table("a", "rename-import: {from: javax, to: jakarta}"))
        .with("E.java", text);
    let left = project.fix();
    let expected = text.replace("javax.xml.bind", "jakarta.xml.bind").replace("javax.servlet", "jakarta.servlet");
    assert_eq!(project.read("E.java"), expected);
    assert_eq!(left.len(), 4, "{left:?}");
    assert!(left[1].contains("E.java:3") && left[1].contains("wildcard import javax.xml.*"), "{left:?}");
    assert!(left[2].contains("E.java:4") && left[2].contains("wildcard import javax.annotation.*"), "{left:?}");
}

#[test]
fn text_is_replaced_only_in_the_lines_that_the_rule_has_found() {
    let fixes = table("a", "replace: {pattern: '(\\w+)=old', with: '${1}=new$$'}");
    let project = Project::new(&content_rule("a", "#")).with_fixes(&fixes).with("x", "a=old\nb=old # c=old\r\nd=old #");
    let reason = "the rule finds this place again after its fix";
    assert_eq!(project.fix(), [format!("x:2: a: {reason}"), format!("x:3: a: {reason}")]);
    assert_eq!(project.read("x"), "a=old\nb=new$ # c=new$\r\nd=new$ #");
}

#[test]
fn a_place_of_several_lines_is_fixed_in_all_of_them() {
    let fixes = "- ruleID: a\n  fixes:\n  - {risk: low, replace: {text: one, with: '1'}}\n  \
                 - {risk: high, replace: {text: two, with: '2'}}\n";
    let project = Project::new(&content_rule("a", "one\\s+two")).with_fixes(fixes).with("x", "one\ntwo\none\n");
    let plan = project.plan();
    assert_eq!(plan.proposals[0].risk, Risk::High);
    assert_eq!(project.fix(), [""; 0]);
    assert_eq!(project.read("x"), "1\n2\none\n");
}

#[test]
fn lines_are_deleted_with_their_line_ends() {
    for (text, expected) in [
        ("a\r\nold\r\nb\r\n", "a\r\nb\r\n"),
        ("a\nold", "a"),
        ("old\n", ""),
        ("\u{feff}a\nold x\nold\n", "\u{feff}a\n"),
    ] {
        let project =
            Project::new(&content_rule("a", "old")).with_fixes(&table("a", "delete-line: true")).with("x", text);
        assert_eq!(project.fix(), [""; 0]);
        assert_eq!(project.read("x"), expected);
    }
}

#[test]
fn a_file_is_renamed() {
    let rule = "- ruleID: a\n  message: m\n  when:\n    builtin.file: {pattern: '/old[.].*'}\n";
    let fixes = table("a", "rename-file: {pattern: '^old', with: 'new'}");
    let project = Project::new(rule).with_fixes(&fixes).with("d/old.A", "x").with("d/older", "y");
    assert_eq!(project.plan().proposals[0].operation, Operation::Rename);
    assert_eq!(project.fix(), [""; 0]);
    assert_eq!(project.read("d/new.A"), "x");
    assert!(!project.root().join("d/old.A").exists());
}

#[test]
fn messages_that_state_a_replacement_are_fixes() {
    let rule =
        |id: &str, message: &str, when: &str| format!("- ruleID: {id}\n  message: '{message}'\n  when:\n    {when}\n");
    let content = |pattern: &str| format!("builtin.filecontent: {{pattern: '{pattern}'}}");
    let import = |pattern: &str| format!("java.referenced: {{location: IMPORT, pattern: '{pattern}'}}");
    for (message, when, before, after) in [
        ("Replace `a.b` with `c.d`.", content("a\\.b"), "x a.b a-b\n", "x c.d a-b\n"),
        ("Replace the `id>a` group with `id>b`", content("<id>a<"), "<id>a</id><id>ab", "<id>b</id><id>ab"),
        ("Replace `a.{{x}}` with `b.{{x}}`", content("=a.(c|d)"), "a.c=a.d=a.e", "a.c=b.d=a.e"),
        ("The class a.B was moved to c.D", import("a.B"), "import a.B; import a.Bc;", "import c.D; import a.Bc;"),
        ("Replace the `a.{{x}}` import with `b.{{x}}`", import("a.(x|y)*"), "import a.x.Y;", "import b.x.Y;"),
        // There is no fix if the rule does not search for the replaced text, if the rule finds the result again, or if
        // the message states two replacements.
        ("Replace `a.b` with `c.d`.", content("c.d"), "a.b c.d", "a.b c.d"),
        ("Replace `a` with `aa`.", content("a"), "a", "a"),
        ("The class a.B was moved to c.D", import("c.D"), "import c.D;", "import c.D;"),
        ("The class a.B was moved to c.D", import("a*"), "import a.x.Y;", "import a.x.Y;"),
        ("Replace `a` with `b`, or replace `a` with `c`", content("a"), "a", "a"),
    ] {
        let project = Project::new(&rule("r", message, &when)).with("X.java", before);
        let left = project.fix();
        assert_eq!(project.read("X.java"), after, "{message} {when} {left:?}");
    }
}

#[test]
fn a_derived_fix_has_a_medium_risk_and_is_replaced_by_a_table() {
    let rule = "- ruleID: a\n  message: Replace `old` with `new`\n  when:\n    builtin.filecontent: {pattern: old}\n";
    let project = Project::new(rule).with("x", "old");
    assert_eq!(project.plan().proposals[0].risk, Risk::Medium);
    let project = project.with_fixes(&table("a", "replace: {text: old, with: other}"));
    assert_eq!(project.plan().proposals[0].risk, Risk::Low);
    project.fix();
    assert_eq!(project.read("x"), "other");
}

#[test]
fn the_ends_of_lines_and_files_and_a_byte_order_mark_stay() {
    for text in ["\u{feff}old\r\na\nold", "old\r\n\r\n", "old\rold\r\n", "\n\nold\n\n"] {
        let fixes = table("a", "replace: {text: old, with: new}");
        let project = Project::new(&content_rule("a", "old")).with_fixes(&fixes).with("x", text);
        project.fix();
        assert_eq!(project.read("x"), text.replace("old", "new"));
    }
}

#[test]
fn files_that_are_not_text_are_left_alone() {
    let fixes = table("a", "replace: {text: old, with: new}");
    let project = Project::new(&content_rule("a", "old"))
        .with_fixes(&fixes)
        .with("binary", b"old\0")
        .with("latin1", b"old \xe9")
        .with("utf16", b"\xff\xfeo\0l\0d\0");
    let before = snapshot(&project.root());
    project.fix();
    assert_eq!(snapshot(&project.root()), before);
}

#[test]
fn a_second_run_changes_nothing() {
    let rules = content_rule("a", "x+") + &content_rule("b", "b") + &content_rule("c", "c");
    let fixes = table("a", "replace: {text: x, with: xx}")
        + &table("b", "replace: {text: b, with: c}")
        + &table("c", "replace: {text: c, with: b}");
    let project = Project::new(&rules).with_fixes(&fixes).with("1", "x\n").with("2", "b\n");
    let before = snapshot(&project.root());
    let left = project.fix();
    assert_eq!(snapshot(&project.root()), before);
    assert!(left.iter().any(|left| left.contains("1:1: a: the fix would change its own result")), "{left:?}");
    assert!(left.iter().any(|left| left.contains("2: b: the file was not changed")), "{left:?}");
}

#[test]
fn a_fix_that_creates_a_place_of_another_rule_is_followed_by_the_fix_of_that_rule() {
    let rules = content_rule("b", "two") + &content_rule("a", "one");
    let fixes = table("a", "replace: {text: one, with: two}") + &table("b", "replace: {text: two, with: three}");
    let project = Project::new(&rules).with_fixes(&fixes).with("x", "one\n");
    assert_eq!(project.plan().proposals.len(), 1);
    project.fix();
    assert_eq!(project.read("x"), "three\n");
}

#[test]
fn a_file_and_a_line_narrow_the_places_of_a_rule() {
    let project = Project::new(&content_rule("a", "old"))
        .with_fixes(&table("a", "replace: {text: old, with: new}"))
        .with("x", "old\nold\n")
        .with("y", "old\n");
    let rules = project.load().0;
    let workspace = project.workspace();
    let uri = workspace.uri(&workspace.resolve("x").unwrap());
    for (target, expected) in [
        (Target { rule_id: "a", uri: Some(&uri), line: Some(2) }, &[("x", "old\nnew\n")][..]),
        (Target { rule_id: "a", uri: Some("x"), line: None }, &[("x", "new\nnew\n")]),
        (Target { rule_id: "a", uri: None, line: Some(1) }, &[("x", "new\nold\n"), ("y", "new\n")]),
        (Target { rule_id: "a", uri: Some("y"), line: Some(5) }, &[]),
        (Target::rule("a"), &[("x", "new\nnew\n"), ("y", "new\n")]),
    ] {
        let plan = plan_fix(&rules, &workspace, target, FixOptions::default()).unwrap();
        let found: Vec<_> = plan
            .proposals
            .iter()
            .map(|proposal| (proposal.file_path.as_str(), std::str::from_utf8(proposal.after().unwrap()).unwrap()))
            .collect();
        assert_eq!(found, expected, "{target:?}");
    }
}

#[test]
fn a_rule_without_a_fix_is_an_error() {
    let project = Project::new(&content_rule("a", "x")).with("x", "x");
    let (rules, workspace) = (project.load().0, project.workspace());
    let plan = |target: Target<'_>| plan_fix(&rules, &workspace, target, FixOptions::default()).unwrap_err();
    assert!(matches!(plan(Target::rule("a")), FixError::NoMechanicalFix(id) if id == "a"));
    assert!(matches!(plan(Target::rule("b")), FixError::UnknownRule(id) if id == "b"));
}

#[test]
fn a_file_outside_of_the_workspace_or_of_its_patterns_is_denied() {
    let project = Project::new(&content_rule("a", "x"))
        .with_fixes(&table("a", "replace: {text: x, with: y}"))
        .with("x", "x")
        .with("target/x", "x");
    let (rules, workspace) = (project.load().0, project.workspace());
    for uri in ["/etc/passwd", "../x", "target/x"] {
        let target = Target { rule_id: "a", uri: Some(uri), line: None };
        let error = plan_fix(&rules, &workspace, target, FixOptions::default()).unwrap_err();
        assert!(matches!(&error, FixError::Workspace(error) if error.kind() == ErrorKind::Denied), "{uri}: {error}");
    }
}

#[test]
fn a_change_after_the_plan_is_not_overwritten() {
    let project = Project::new(&content_rule("a", "old"))
        .with_fixes(&table("a", "replace: {text: old, with: new}"))
        .with("x", "old\n");
    let plan = project.plan();
    fs::write(project.root().join("x"), "old\nmine\n").unwrap();
    let workspace = Workspace::open_default(&project.root()).unwrap();
    assert_eq!(workspace.apply(&plan.proposals[0]).unwrap_err().kind(), ErrorKind::Changed);
    assert_eq!(project.read("x"), "old\nmine\n");
}

#[test]
fn many_places_in_one_file_are_all_fixed() {
    let text = "old old\n".repeat(5_000);
    let project = Project::new(&content_rule("a", "old"))
        .with_fixes(&table("a", "replace: {text: old, with: new}"))
        .with("x", &text);
    project.fix();
    assert_eq!(project.read("x"), text.replace("old", "new"));
}

#[test]
fn rules_that_change_the_results_of_each_other_leave_the_file() {
    let fixes = "- {ruleID: a, fixes: [{risk: low, replace: {text: one, with: two}}]}\n\
                 - {ruleID: b, fixes: [{risk: low, replace: {text: two, with: one}}]}\n";
    let project =
        Project::new(&(content_rule("a", "one") + &content_rule("b", "two"))).with_fixes(fixes).with("x", "one");
    let left = project.fix();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.iter().all(|left| left.contains("the file was not changed")), "{left:?}");
    assert_eq!(project.read("x"), "one");
}

#[test]
fn a_fix_whose_result_is_too_large_is_blocked_before_the_memory_is_used() {
    let line = "old ".repeat(100_000);
    let many = "import old.A;\n".repeat(10_000);
    for (rule, fix, file, text) in [
        // The results would have 100 GB, 40 GB and 10 GB.
        (content_rule("a", "old"), format!("replace: {{text: old, with: {}}}", "x".repeat(1_000_000)), "x", &*line),
        (
            content_rule("a", "old"),
            format!("replace: {{pattern: '(.*)old.*', with: '{}'}}", "${1}".repeat(100_000)),
            "x",
            &*line,
        ),
        (
            import_rule("a", "old*"),
            format!("rename-import: {{from: old, to: {}}}", "x".repeat(1_000_000)),
            "A.java",
            &*many,
        ),
    ] {
        let project = Project::new(&rule).with_fixes(&table("a", &fix)).with(file, text);
        let plan = project.plan();
        assert_eq!(plan.proposals.len(), 0);
        let blocked: Vec<_> = plan.blocked.iter().map(ToString::to_string).collect();
        assert_eq!(blocked, [format!("{file}: the new content must have at most 2097152 bytes, got more")]);
    }
    // A derived fix replaces the text within each match.
    let rule = format!(
        "- ruleID: a\n  message: Replace `old` with `{}`\n  when:\n    builtin.filecontent: {{pattern: old}}\n",
        "x".repeat(1_000_000)
    );
    let plan = Project::new(&rule).with("x", &line).plan();
    assert_eq!((plan.proposals.len(), plan.blocked.len()), (0, 1));
    let rename = format!("rename-file: {{pattern: '(.+)', with: '{}'}}", "${1}".repeat(1_000_000));
    let project = Project::new("- ruleID: a\n  message: m\n  when:\n    builtin.file: {pattern: '^name.*'}\n");
    let left = project.with_fixes(&table("a", &rename)).with("name", "").fix();
    assert_eq!(left, ["name: a: the new name of the file is too long"]);
}

#[test]
fn deleted_lines_leave_the_byte_order_mark_and_the_lines_below() {
    let delete = "delete-line: true";
    for (fixes, before, after) in [
        (vec![delete], "\u{feff}old\nb\n", "\u{feff}b\n"),
        (vec![delete], "\u{feff}old", "\u{feff}"),
        // The line that gets the number of a deleted line is not changed.
        (vec![delete, "replace: {text: x, with: y}"], "a x\nold x\nb x\nc x\n", "a x\nb x\nc x\n"),
        (vec![delete, delete], "old\nb\nold\nc\nd\n", "b\nc\nd\n"),
        (vec!["replace: {text: x, with: y}", delete], "a x\nold x\nb x\n", "a x\nb x\n"),
        (vec!["replace: {pattern: '^.', with: n}"], "\u{feff}old\nold\n", "\u{feff}nld\nnld\n"),
    ] {
        let list: Vec<_> = fixes.iter().map(|fix| format!("{{risk: low, {fix}}}")).collect();
        let fixes = format!("- {{ruleID: a, fixes: [{}]}}\n", list.join(", "));
        let project = Project::new(&content_rule("a", "old")).with_fixes(&fixes).with("x", before);
        let left = project.fix();
        assert_eq!((project.read("x"), left), (after.to_owned(), Vec::new()), "{fixes}");
    }
}
