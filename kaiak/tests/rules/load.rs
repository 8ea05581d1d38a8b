//! Loading rules: rules that are skipped, files that are omitted, and tables of fixes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kaiak::rules::{Rule, RuleSet};

use crate::project::{Project, content_rule};

/// Returns the reasons of the warnings, and the number of rules.
fn warnings(project: &Project) -> (Vec<String>, usize) {
    let (rules, warnings) = project.load();
    (warnings.iter().map(|warning| format!("{:?} {}", warning.rule, warning.reason)).collect(), rules.rules().len())
}

#[test]
fn a_rule_with_an_unsupported_condition_is_skipped_with_a_warning_that_names_the_condition() {
    let dependency = "- ruleID: a\n  message: m\n  when:\n    or:\n    - java.dependency: {name: x}\n";
    let class = "- ruleID: b\n  message: m\n  when:\n    java.referenced: {location: TYPE, pattern: x}\n";
    let project = Project::new(&format!("{dependency}{class}{}", content_rule("c", "x")));
    let (reasons, count) = warnings(&project);
    assert_eq!(count, 1);
    assert_eq!(reasons.len(), 2);
    assert!(reasons[0].contains("\"a\"") && reasons[0].contains("java.dependency"), "{reasons:?}");
    assert!(reasons[1].contains("\"b\"") && reasons[1].contains("TYPE"), "{reasons:?}");
}

#[test]
fn a_rule_with_an_invalid_pattern_is_skipped_with_a_warning() {
    for pattern in ["(", "(?=a)b", "a{1000}{1000}{1000}", "x*", "\\k<a>"] {
        let project = Project::new(&(content_rule("a", pattern) + &content_rule("b", "x")));
        let (reasons, count) = warnings(&project);
        assert_eq!((count, reasons.len()), (1, 1), "{pattern}");
        assert!(reasons[0].contains("\"a\"") && reasons[0].contains(pattern), "{reasons:?}");
    }
}

#[test]
fn a_rule_without_the_required_members_is_skipped_with_a_warning() {
    for rule in [
        "- ruleID: a\n  message: m\n",
        "- message: m\n  when:\n    builtin.file: {pattern: a}\n",
        "- ruleID: ''\n  message: m\n  when:\n    builtin.file: {pattern: a}\n",
        "- ruleID: a\n  message: m\n  when: {}\n",
        "- ruleID: a\n  message: m\n  when:\n    or: []\n",
        "- ruleID: a\n  message: m\n  when:\n    not: true\n    builtin.file: {pattern: a}\n",
        "- ruleID: a\n  message: m\n  when:\n    builtin.file: {pattern: a}\n    builtin.filecontent: {pattern: a}\n",
        "- ruleID: a\n  message: m\n  when:\n    builtin.file: {pattern: '{{x.filepaths}}'}\n",
        "- ruleID: a\n  message: m\n  when:\n    from: x\n    builtin.file: {pattern: a}\n",
        "- 5\n",
    ] {
        let (reasons, count) = warnings(&Project::new(rule));
        assert_eq!((count, reasons.len()), (0, 1), "{rule}");
    }
}

#[test]
fn a_file_that_is_not_a_list_is_skipped_with_a_warning() {
    for text in ["a: b", "- [", "\u{0}", "- &a [*a]"] {
        let (reasons, count) = warnings(&Project::new(text));
        assert_eq!((count, reasons.len()), (0, 1), "{text:?}: {reasons:?}");
    }
}

#[test]
fn a_file_whose_aliases_expand_to_a_large_document_is_skipped_with_a_warning() {
    let mut text = "- &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..20 {
        let before = level - 1;
        text += &format!("- &a{level} [{}]\n", vec![format!("*a{before}"); 9].join(", "));
    }
    let start = Instant::now();
    let (reasons, count) = warnings(&Project::new(&text));
    assert_eq!((count, reasons.len()), (0, 1));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn folders_of_tests_and_files_of_tests_have_no_rules() {
    let project = Project::new(&content_rule("a", "x"));
    let rules = project.rules();
    for (path, id) in
        [("tests/t.yaml", "t"), ("a.test.yaml", "u"), ("ruleset.yaml", "v"), ("b.txt", "w"), ("sub/c.yml", "b")]
    {
        let path = rules.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content_rule(id, "x")).unwrap();
    }
    let (loaded, warnings) = project.load();
    let mut ids: Vec<_> = loaded.rules().map(|rule| rule.id().to_owned()).collect();
    ids.sort();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(warnings, []);
}

#[test]
fn a_missing_folder_of_rules_is_an_error_that_names_it() {
    let error = RuleSet::load(&[PathBuf::from("/missing/rules")]).unwrap_err();
    assert!(error.to_string().contains("/missing/rules"), "{error}");
}

#[test]
fn an_invalid_entry_of_a_table_is_omitted_with_a_warning() {
    for (entry, reason) in [
        ("{ruleID: a, fixes: [{risk: low, replace: {text: x}}]}", "with"),
        ("{ruleID: a, fixes: [{risk: low, replace: {pattern: '(', with: y}}]}", "regular expression"),
        ("{ruleID: a, fixes: [{risk: low, replace: {pattern: 'x*', with: y}}]}", "empty text"),
        ("{ruleID: a, fixes: [{risk: none, delete-line: true}]}", "`low`"),
        ("{ruleID: a, fixes: [{risk: low}]}", "one of"),
        ("{ruleID: a, fixes: [{risk: low, delete-line: true, replace: {text: x, with: y}}]}", "one of"),
        ("{ruleID: a, fixes: [{risk: low, rename-import: {from: 'a b', to: c}}]}", "names of Java"),
        ("{ruleID: a, fixes: [{risk: low, replace: {text: x, with: \"y\\nz\"}}]}", "line ends"),
        ("{ruleID: a, fixes: [{risk: low, replace: {text: x, with: \"y\\0z\"}}]}", "NUL"),
        ("{ruleID: a, fixes: [{risk: low, rename-file: {pattern: x, with: \"y\\0z\"}}]}", "NUL"),
        ("{ruleID: b, fixes: [{risk: low, delete-line: true}]}", "no such rule"),
    ] {
        let project = Project::new(&content_rule("a", "x")).with_fixes(&format!("- {entry}\n"));
        let (reasons, count) = warnings(&project);
        assert_eq!((count, reasons.len()), (1, 1), "{entry}: {reasons:?}");
        assert!(reasons[0].contains(reason), "{entry}: {reasons:?}");
    }
}

#[test]
fn a_reference_to_a_missing_group_causes_a_warning_because_it_would_delete_text() {
    for (fix, group) in [
        ("replace: {pattern: '(a)b', with: '$9'}", Some("`9`")),
        ("replace: {pattern: '(a)b', with: '$1c'}", Some("`1c`")),
        ("replace: {pattern: '(?P<x>a)b', with: '${y}'}", Some("`y`")),
        ("rename-file: {pattern: '(a)', with: '$2'}", Some("`2`")),
        ("replace: {pattern: '(?P<x>a)b', with: '$0 $1 ${1}c $x ${x} $$9 $ ${'}", None),
        ("replace: {text: 'a', with: '$9'}", None),
    ] {
        let fixes = format!("- ruleID: a\n  fixes: [{{risk: low, {fix}}}]\n");
        let (reasons, _) = warnings(&Project::new(&content_rule("a", "x")).with_fixes(&fixes));
        assert_eq!(reasons.len(), usize::from(group.is_some()), "{fix}: {reasons:?}");
        assert!(reasons.iter().all(|reason| reason.contains(group.unwrap_or_default())), "{reasons:?}");
    }
}

#[test]
fn a_warning_repeats_only_the_beginning_of_an_invalid_value() {
    let long = "secret ".repeat(1_000);
    for text in [
        long.clone(),
        format!("- ruleID: a\n  effort: {long}\n  when: {{}}\n"),
        format!("- ruleID: {long}\n  when: {{}}\n"),
        format!("- ruleID: a\n  message: m\n  when: {{builtin.filecontent: {{pattern: '({long}'}}}}\n"),
        format!("- ruleID: a\n  message: m\n  when: {{'{long}': {{}}}}\n"),
    ] {
        let (reasons, count) = warnings(&Project::new(&text));
        assert_eq!((count, reasons.len()), (0, 1), "{reasons:?}");
        assert!(reasons[0].len() < 600, "{}", reasons[0]);
    }
    let (reasons, _) = warnings(&Project::new("root:x:0:0"));
    assert_eq!(reasons, ["None the file is skipped: it must be a list, got a text"]);
    let fixes = format!("- {{ruleID: a, fixes: [{{risk: '{long}', delete-line: true}}]}}\n");
    let (reasons, _) = warnings(&Project::new(&content_rule("a", "x")).with_fixes(&fixes));
    assert!(reasons.len() == 1 && reasons[0].len() < 600, "{reasons:?}");
}

#[test]
fn a_file_that_cannot_be_a_rule_is_skipped_with_a_warning() {
    let project = Project::new(&content_rule("a", "x"));
    symlink("missing", project.rules().join("dangling.yaml")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, project.rules().join("pipe.yaml"), rustix::fs::Mode::RUSR).unwrap();
    fs::create_dir_all(project.rules().join("deep/".repeat(20))).unwrap();
    let (mut reasons, count) = warnings(&project);
    reasons.sort();
    assert_eq!((count, reasons.len()), (1, 3), "{reasons:?}");
    for (reason, part) in reasons.iter().zip(["file is skipped", "file is skipped", "folder is skipped"]) {
        assert!(reason.contains(part), "{reasons:?}");
    }
}

#[test]
fn a_file_of_rules_that_is_too_large_is_skipped_with_a_warning() {
    for (bytes, expected) in [(16 * 1_048_576, 1), (16 * 1_048_576 + 1, 0)] {
        let mut text = content_rule("a", "x");
        text.push_str(&format!("#{}", "c".repeat(bytes - text.len() - 1)));
        let (reasons, count) = warnings(&Project::new(&text));
        assert_eq!((count, reasons.len()), (expected, 1 - expected), "{reasons:?}");
    }
}

#[test]
fn a_rule_whose_conditions_are_nested_too_deep_is_skipped_with_a_warning() {
    for (depth, expected) in [(16, 1), (17, 0)] {
        let condition = format!("{}builtin.file: {{pattern: a}}{}", "or: [{".repeat(depth), "}]".repeat(depth));
        let (reasons, count) =
            warnings(&Project::new(&format!("- ruleID: a\n  message: m\n  when: {{{condition}}}\n")));
        assert_eq!((count, reasons.len()), (expected, 1 - expected), "{reasons:?}");
    }
}

#[test]
fn a_byte_order_mark_at_the_start_of_a_file_of_rules_is_ignored() {
    let project = Project::new(&format!("\u{feff}{}", content_rule("a", "x")))
        .with_fixes("\u{feff}- {ruleID: a, fixes: [{risk: low, delete-line: true}]}\n");
    let (rules, warnings) = project.load();
    assert_eq!((rules.rules().len(), warnings), (1, Vec::new()));
    assert!(rules.rules().all(Rule::has_fix));
}

#[test]
fn each_file_is_read_once_even_if_several_paths_and_links_lead_to_it() {
    let project = Project::new(&content_rule("a", "x"));
    let rules = project.rules();
    fs::create_dir_all(rules.join("sub")).unwrap();
    fs::write(rules.join("sub/b.yaml"), content_rule("b", "x")).unwrap();
    // Two links that lead in a loop, a link to a folder whose name follows the name of the link, and a link to a file.
    symlink(".", rules.join("loop")).unwrap();
    symlink("..", rules.join("sub/up")).unwrap();
    symlink("sub", rules.join("also-sub")).unwrap();
    symlink("rules.yaml", rules.join("again.yaml")).unwrap();
    for paths in [
        vec![rules.clone()],
        vec![rules.clone(), rules.clone()],
        vec![rules.clone(), rules.join("sub/../sub")],
        vec![rules.join("sub"), rules.join("also-sub/b.yaml"), rules.join("rules.yaml")],
    ] {
        let (loaded, warnings) = RuleSet::load(&paths).unwrap();
        let mut ids: Vec<_> = loaded.rules().map(|rule| rule.id().to_owned()).collect();
        ids.sort();
        assert_eq!((ids, warnings), (vec!["a".to_owned(), "b".to_owned()], Vec::new()), "{paths:?}");
    }
}

#[test]
fn one_table_can_apply_to_several_folders_by_links() {
    let project = Project::new("");
    let rules = project.rules();
    let common = rules.join("../common.yaml");
    fs::write(&common, "- {ruleID: a, fixes: [{risk: low, delete-line: true}]}\n").unwrap();
    for (folder, pattern) in [("one", "x"), ("two", "y")] {
        fs::create_dir(rules.join(folder)).unwrap();
        fs::write(rules.join(folder).join("rules.yaml"), content_rule("a", pattern)).unwrap();
        symlink(&common, rules.join(folder).join("fixes.yaml")).unwrap();
    }
    let (loaded, warnings) = project.load();
    assert_eq!((loaded.rules().len(), warnings), (2, Vec::new()));
    assert!(loaded.rules().all(Rule::has_fix));
}

#[test]
fn a_table_that_is_not_a_regular_file_is_an_error_that_names_it() {
    let create: [fn(&Path); 3] = [
        |path| fs::create_dir(path).unwrap(),
        |path| symlink("missing", path).unwrap(),
        |path| rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RUSR).unwrap(),
    ];
    for create in create {
        let project = Project::new(&content_rule("a", "x"));
        let path = project.rules().join("fixes.yaml");
        create(&path);
        for paths in [project.rules(), path.clone()] {
            let error = RuleSet::load(&[paths]).unwrap_err().to_string();
            assert!(error.contains("fixes.yaml"), "{error}");
        }
        let error = RuleSet::load(&[project.rules()]).unwrap_err().to_string();
        assert!(error.contains("fixes.yaml must be a regular file, or must not exist"), "{error}");
    }
}

#[test]
fn a_table_applies_to_a_rule_however_the_paths_are_written() {
    let project =
        Project::new(&content_rule("a", "x")).with_fixes("- {ruleID: a, fixes: [{risk: low, delete-line: true}]}\n");
    let rules = project.rules();
    fs::create_dir(rules.join("empty")).unwrap();
    let links = project.root();
    symlink(&rules, links.join("folder")).unwrap();
    symlink(rules.join("rules.yaml"), links.join("rule.yaml")).unwrap();
    for paths in [
        vec![rules.join("../rules/rules.yaml"), rules.clone()],
        vec![rules.join("rules.yaml"), links.join("folder")],
        vec![links.join("folder/rules.yaml"), rules.join("fixes.yaml")],
        vec![links.clone(), rules.clone()],
        vec![links.join("rule.yaml"), rules.clone()],
        vec![links],
    ] {
        let (loaded, warnings) = RuleSet::load(&paths).unwrap();
        assert_eq!((loaded.rules().len(), warnings), (1, Vec::new()), "{paths:?}");
        assert!(loaded.rules().all(Rule::has_fix), "{paths:?}");
    }
    let (_, warnings) = RuleSet::load(&[rules.clone(), rules.join("empty")]).unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}
