//! The commands `kaiak find`, `kaiak fix` and `kaiak version`, as processes.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::project::{Project, content_rule, snapshot};

fn kaiak(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kaiak"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn git(arguments: &[&str], folder: &Path) -> Output {
    Command::new("git").args(arguments).current_dir(folder).output().unwrap()
}

/// A project whose files have names and ends of lines that diffs must represent exactly.
fn project() -> Project {
    let rules =
        content_rule("a", "old") + "- ruleID: b\n  message: m\n  when:\n    builtin.file: {pattern: '^name.*'}\n";
    let fixes = "- {ruleID: a, fixes: [{risk: low, replace: {text: old, with: new}}]}\n\
                 - {ruleID: b, fixes: [{risk: low, rename-file: {pattern: name, with: other}}]}\n";
    Project::new(&rules)
        .with_fixes(fixes)
        .with("plain.txt", "1\n2\n3\n4\nold\n6\n7\n8\n9\n10\n11\n12\n13\nold\n")
        .with("no end.txt", "a\nold")
        .with("crlf.txt", "\u{feff}old\r\nb\r\nold\r\n")
        .with("cr\"and\\quote\t.txt", "old\rold\r\n")
        .with("dir/ünïcode.txt", "old\n")
        .with("name.txt", "old\nx\n")
        .with("name-empty.txt", "")
        .with("untouched.txt", "x\n")
}

#[test]
fn git_apply_with_the_diff_of_a_dry_run_has_the_result_of_a_fix() {
    let (first, second) = (project(), project());
    assert!(git(&["init", "-q"], &first.root()).status.success());
    let before = snapshot(&first.root());
    let dry = kaiak(&["fix", "--rules", "../rules", "--dry-run", "."], &first.root());
    assert!(dry.status.success(), "{}", text(&dry.stderr));
    assert_eq!(snapshot(&first.root()), before);
    let patch = first.root().parent().unwrap().join("patch");
    fs::write(&patch, &dry.stdout).unwrap();
    let applied = git(&["apply", "--whitespace=nowarn", patch.to_str().unwrap()], &first.root());
    assert!(applied.status.success(), "{}\n{}", text(&applied.stderr), text(&dry.stdout));
    // The table of fixes applies to the rules in its folder, although the options write the path of the folder in
    // several ways.
    let file = second.rules().join("rules.yaml");
    let paths =
        ["fix", "--rules", file.to_str().unwrap(), "--rules", "../rules", "--rules", "../rules/./fixes.yaml", "."];
    let fixed = kaiak(&paths, &second.root());
    assert!(fixed.status.success());
    assert_eq!(fixed.stdout, dry.stdout);
    fs::remove_dir_all(first.root().join(".git")).unwrap();
    let relative = |project: &Project| {
        let root = project.root();
        let files = snapshot(&root).into_iter();
        files.map(|(path, bytes)| (path.strip_prefix(&root).unwrap().to_owned(), bytes)).collect::<Vec<_>>()
    };
    assert_eq!(relative(&first), relative(&second));
    assert_eq!(first.read("other.txt"), "new\nx\n");
    assert_eq!(first.read("no end.txt"), "a\nnew");
    let again = kaiak(&["fix", "--rules", "../rules", "."], &second.root());
    assert!(again.status.success() && again.stdout.is_empty());
}

#[test]
fn find_prints_incidents_to_standard_output_and_warnings_to_standard_error() {
    let project = Project::new(&(content_rule("a", "x") + "- ruleID: b\n  message: m\n  when:\n    other.thing: {}\n"))
        .with("f", "x\nx\n");
    let output = kaiak(&["find", "--rules", "../rules", "."], &project.root());
    assert!(output.status.success());
    let lines: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[1]["rule_id"], &lines[1]["lineNumber"]), (&"a".into(), &2.into()));
    let errors = text(&output.stderr);
    assert!(errors.contains("rule b is skipped: the provider other.thing is not supported"), "{errors}");
    assert!(!errors.contains('\u{1b}'), "{errors}");
    let quiet = kaiak(&["find", "-q", "--rules", "../rules", "--rule", "a", "."], &project.root());
    assert_eq!((&quiet.stdout, text(&quiet.stderr)), (&output.stdout, String::new()));
}

#[test]
fn a_project_without_a_selected_file_is_a_warning() {
    let fixes = "- {ruleID: a, fixes: [{risk: low, replace: {text: x, with: y}}]}\n";
    let project = Project::new(&content_rule("a", "x")).with_fixes(fixes).with("folder/f.java", "x");
    for command in ["find", "fix"] {
        for (include, is_selected) in [("*.java", false), ("**/*.java", true)] {
            let output = kaiak(&[command, "--rules", "../rules", "--include", include, "."], &project.root());
            let errors = text(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{errors}");
            let warning = "warning: WORKSPACE must have a file that `--include` and `--exclude` select, got none";
            assert_eq!(errors.contains(warning), !is_selected, "{command} {include}: {errors}");
        }
    }
}

#[test]
fn errors_name_the_argument_and_the_remedy() {
    let project = Project::new(&content_rule("a", "x")).with("f", "x");
    fs::create_dir(project.root().join("../empty")).unwrap();
    for (arguments, code, part) in [
        (&["find", "."][..], 2, "--rules"),
        (&["find", "--rules", "missing", "."], 1, "missing"),
        (&["find", "--rules", "../rules", "missing"], 1, "missing"),
        (&["find", "--rules", "../rules", "--rule", "b", "."], 1, "the rule b must be"),
        (&["find", "--rules", "../rules", "--include", "a[", "."], 1, "a["),
        (&["fix", "--rules", "../rules", "."], 1, "no mechanical fix"),
        (&["find", "--rules", "../rules", "f"], 1, "f: the workspace must be a folder"),
        (&["find", "--rules", "../empty", "."], 1, "at least one usable rule"),
        (&["fix", "--rules", "../empty", "."], 1, "at least one usable rule"),
        (&["nothing"], 2, "nothing"),
    ] {
        let output = kaiak(arguments, &project.root());
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
        assert!(errors.contains("error: ") && errors.contains(part), "{arguments:?}: {errors}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_after_the_other_files_are_written() {
    let project = Project::new(&content_rule("a", "old"))
        .with_fixes("- {ruleID: a, fixes: [{risk: low, replace: {text: old, with: new}}]}\n")
        .with("a", "old")
        .with("b", "old");
    let mut mode = fs::metadata(project.root().join("a")).unwrap().permissions();
    mode.set_readonly(true);
    fs::set_permissions(project.root().join("a"), mode).unwrap();
    let output = kaiak(&["fix", "--rules", "../rules", "."], &project.root());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("a: the mode of the file must allow writing"), "{}", text(&output.stderr));
    assert_eq!((project.read("a"), project.read("b")), ("old".to_owned(), "new".to_owned()));
    assert!(!text(&output.stdout).contains("a/a"));
}

#[test]
fn a_fix_that_cannot_be_written_is_an_error_of_a_dry_run_too() {
    let rules =
        content_rule("a", "old") + "- ruleID: b\n  message: m\n  when:\n    builtin.file: {pattern: '^name.*'}\n";
    let project = Project::new(&rules)
        .with_fixes(
            "- {ruleID: a, fixes: [{risk: low, replace: {text: old, with: longer}}]}\n\
             - {ruleID: b, fixes: [{risk: low, rename-file: {pattern: '^name.*', with: other}}]}\n",
        )
        .with("large", "old".repeat(699_050))
        .with("name1", "")
        .with("name2", "");
    let output = kaiak(&["fix", "--rules", "../rules", "--dry-run", "."], &project.root());
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors.contains("large: the new content must have at most 2097152 bytes"), "{errors}");
    assert!(errors.contains("name2: the file must get a path of its own"), "{errors}");
    assert!(errors.contains("error: cannot write 2 files; the warnings have the reasons"), "{errors}");
    assert!(text(&output.stdout).contains("rename from name1"));
}

#[test]
fn the_number_of_binary_files_is_printed() {
    let project = Project::new(&content_rule("a", "x")).with("f", "x").with("g", "x\0").with("h", b"x\xe9");
    let output = kaiak(&["find", "--rules", "../rules", "."], &project.root());
    let errors = text(&output.stderr);
    assert!(errors.contains("1 incident of 1 rule in 3 files; of one binary file, only the path was searched"));
    assert!(errors.contains("warning: h: the file must be text in UTF-8"), "{errors}");
}

#[test]
fn version_prints_the_version() {
    let output = kaiak(&["version"], Path::new("/"));
    assert_eq!(text(&output.stdout), concat!("kaiak ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let project = project();
    for arguments in [
        &["find", "--rules", "../rules", "."][..],
        &["find", "--quiet", "--rules", "../rules", "."],
        &["fix", "--dry-run", "--rules", "../rules", "."],
        &["fix", "--rules", "../rules", "."],
        &["version"],
        &["--version"],
        &["help"],
        &["find", "--help"],
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_kaiak"));
        let output = command.args(arguments).current_dir(project.root()).stdin(Stdio::null()).stdout(full);
        let output = output.stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {errors}");
        assert!(errors.contains("error: cannot write to standard output: "), "{arguments:?}: {errors}");
    }
}
