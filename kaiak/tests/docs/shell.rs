//! Runs the commands of docs/kaiak.md in one shell, in the order of the page, and compares their outputs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::is_available;
use crate::page::{HOME, blocks, page};
use crate::programs::{has_example_client, has_sdk_agent, repository};

/// Commands that need a network. The tests omit these commands, because the programs are already installed.
const NEED_NETWORK: [&str; 2] = ["cargo install ", "npm install "];

/// Returns the lines of a block that are run.
fn runnable(text: &str) -> String {
    let is_local = |line: &&str| !NEED_NETWORK.iter().any(|command| line.starts_with(command));
    text.lines().filter(is_local).map(|line| format!("{line}\n")).collect()
}

#[test]
fn each_command_prints_the_output_of_the_page() {
    let has_git = is_available(Command::new("git").arg("--version").output().is_ok(), "`git` is not in PATH");
    if !has_git || !has_example_client() || !has_sdk_agent() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let home = fs::canonicalize(folder.path()).unwrap();
    fs::create_dir(home.join("tour")).unwrap();
    symlink(repository().join("node_modules"), home.join("tour/node_modules")).unwrap();

    let blocks = blocks();
    let (mut script, mut expected) = (String::from("set -euo pipefail\n"), Vec::new());
    for (index, block) in blocks.iter().enumerate() {
        match &*block.language {
            "sh" => {
                let output = blocks.get(index + 1).filter(|next| next.language == "text");
                expected.push((block.text.clone(), output.map_or("", |output| &output.text).trim_end().to_owned()));
                script.push_str(&format!("printf '\\n<<<%s\\n' {}\n{}", expected.len(), runnable(&block.text)));
            }
            "text" => assert_eq!(blocks[index - 1].language, "sh", "{}", block.text),
            "json" => {}
            _ => {
                let folder = Path::new(&block.label).parent().unwrap().display();
                script.push_str(&format!("mkdir -p {folder}\ncat > {} <<'END'\n{}END\n", block.label, block.text));
            }
        }
    }
    assert!(expected.len() > 8, "{expected:?}");

    let programs = Path::new(env!("CARGO_BIN_EXE_kaiak")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-c", &format!("{{\n{script}}} 2>&1")])
        .current_dir(repository())
        .env("HOME", &home)
        .env("PATH", path)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let output_text = String::from_utf8(output.stdout).unwrap();
    let output_text = output_text.replace(home.to_str().unwrap(), HOME).replace('\r', "");
    let outputs: Vec<&str> = output_text.split("\n<<<").skip(1).collect();
    for (number, ((command, expected), output)) in expected.iter().zip(&outputs).enumerate() {
        let output = output.strip_prefix(&format!("{}\n", number + 1)).unwrap();
        assert_eq!(output.trim_end(), expected, "{command}");
    }
    assert!(output.status.success(), "{output_text}");
    assert_eq!(outputs.len(), expected.len(), "{output_text}");
}

#[test]
fn the_page_has_each_option_of_each_command() {
    let page = page();
    for command in ["find", "fix", "serve"] {
        let output = Command::new(env!("CARGO_BIN_EXE_kaiak")).args([command, "--help"]).output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let options = help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2);
        let options: Vec<_> = options.map(|word| word.trim_end_matches([',', '.'])).collect();
        assert!(options.len() > 5, "{options:?}");
        for option in options.into_iter().filter(|option| *option != "--help") {
            assert!(page.contains(&format!("`{option}")), "{command} {option}");
        }
    }
}
