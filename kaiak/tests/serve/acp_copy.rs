//! The private copy of an agent: the server sees each change in the copy, and no change damages the files of the user.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{
    Client, JAVA_FILE, SESSION, Server, agent, command, contents, copies, folder, has_node, log, scripted, start,
    summary, temporary,
};

/// Returns the path and the content of each file below a folder.
fn snapshot(root: &Path) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.symlink_metadata().unwrap().is_dir() {
            files.extend(snapshot(&path));
        } else {
            files.push((path.clone(), fs::read_to_string(&path).unwrap()));
        }
    }
    files.sort();
    files
}

/// Starts the scripted agent in a workspace with files in folders that the default patterns exclude. Changes need no
/// approval.
fn with_tool_files(behaviour: &str, exclude: Option<&[&str]>) -> (Server, Client) {
    let (server, mut client) = agent(behaviour);
    for path in [".git/config", "target/kept.txt", "node_modules/a/index.js"] {
        server.put(path, "of the user");
    }
    client.configure(&json!({ "permissions": { "tool_permissions": { "write_file": "allow" } } }));
    if let Some(exclude) = exclude {
        client.configure(&json!({ "workspace": { "exclude_patterns": exclude } }));
    }
    (server, client)
}

/// Returns the operation and the path of each proposal.
fn proposals(notifications: &[Value]) -> Vec<(&str, &str)> {
    let proposals = contents(notifications, "file_modification");
    proposals
        .into_iter()
        .map(|proposal| (proposal["operation"].as_str().unwrap(), proposal["file_path"].as_str().unwrap()))
        .collect()
}

#[test]
fn new_files_in_excluded_folders_are_named_and_removed_and_the_files_of_the_user_stay() {
    if !has_node() {
        return;
    }
    let (server, mut client) = with_tool_files("tool-files", None);
    let before = snapshot(&server.workspace());
    for is_first in [true, false] {
        let id = client.generate(&["servlet-import"]);
        let (notifications, response) = client.run(id);
        assert_eq!(response["result"]["status"], "completed", "{response}");
        assert_eq!(proposals(&notifications), []);
        let message = "the patterns of the workspace exclude new files of the agent: \
                       .git/config\nnode_modules/a/index.js\ntarget/kept.txt";
        let is_named = contents(&notifications, "system").iter().any(|system| system["message"] == message);
        assert_eq!(is_named, is_first, "{notifications:#?}");
        assert_eq!(snapshot(&server.workspace()), before);
    }
    // The files of the user were not copied, and the files of the first request were removed before the second request.
    assert_eq!(log(&server).matches("present 0").count(), 2, "{}", log(&server));
}

#[test]
fn changes_in_folders_that_the_patterns_do_not_exclude_are_proposals() {
    if !has_node() {
        return;
    }
    let (server, mut client) = with_tool_files("changes-tool-files", Some(&[]));
    let id = client.generate(&["servlet-import"]);
    let (notifications, _) = client.run(id);
    let expected = [("modify", ".git/config"), ("create", "target/new.txt"), ("delete", "target/kept.txt")];
    assert_eq!(proposals(&notifications), expected);
    assert_eq!(server.read(".git/config"), "of the agent");
    assert_eq!(server.read("target/new.txt"), "new");
    assert!(!server.workspace().join("target/kept.txt").exists());
    assert_eq!(server.read("node_modules/a/index.js"), "of the user");
}

#[test]
fn a_write_request_for_an_excluded_file_is_refused_without_a_question() {
    if !has_node() {
        return;
    }
    for permission in ["allow", "approve"] {
        let (server, mut client) = with_tool_files("writes-tool-file", None);
        client.configure(&json!({ "permissions": { "tool_permissions": { "write_file": permission } } }));
        let id = client.generate(&["servlet-import"]);
        let (notifications, _) = client.run(id);
        assert_eq!(contents(&notifications, "user_interaction").len(), 0, "{notifications:#?}");
        let error = contents(&notifications, "error")[0];
        assert_eq!(error["details"], "target/kept.txt: the patterns of the workspace must include the file");
        assert!(log(&server).contains("write refused"), "{}", log(&server));
        assert_eq!(server.read("target/kept.txt"), "of the user");
    }
}

#[test]
fn a_link_pipe_or_folder_in_the_place_of_a_file_is_refused_and_the_copy_is_restored() {
    if !has_node() {
        return;
    }
    let not_regular = "src/A.java: the path must name a regular file";
    let through_link = "src/A.java: the path must not lead through a link or a file";
    let new = "src/B.java: a new file of the agent must be a regular file, got a link or a special file";
    for (behaviour, details) in [
        ("file-to-link", through_link),
        ("file-to-pipe", not_regular),
        ("file-to-folder", not_regular),
        ("folder-to-link", through_link),
        ("folder-to-file", through_link),
        ("new-link", new),
        ("new-pipe", new),
        ("unwritable-file", through_link),
    ] {
        let (server, mut client) = with_tool_files(behaviour, None);
        let outside = server.folder.path().join("log.outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("A.java"), JAVA_FILE).unwrap();
        let (files, others) = (snapshot(&server.workspace()), snapshot(&outside));
        let id = client.generate(&["servlet-import", "servlet-import"]);
        let (notifications, response) = client.run(id);
        assert_eq!(response["result"]["status"], "completed", "{behaviour}: {response}");
        let errors = contents(&notifications, "error");
        let is_refused = |error: &&&Value| error["details"] == details;
        assert_eq!(errors.iter().filter(is_refused).count(), 2, "{behaviour}: {errors:#?}");
        assert!(errors.iter().all(|error| error["error_code"] == "FILE_MODIFICATION_FAILED"), "{errors:#?}");
        assert_eq!(proposals(&notifications), [], "{behaviour}");
        assert_eq!(log(&server).matches("restored true").count(), 2, "{behaviour}: {}", log(&server));
        assert_eq!((snapshot(&server.workspace()), snapshot(&outside)), (files, others), "{behaviour}");
    }
}

#[test]
fn an_agent_that_removes_its_copy_is_started_again_and_deletes_nothing() {
    if !has_node() {
        return;
    }
    let (server, mut client) = with_tool_files("no-root", None);
    let before = snapshot(&server.workspace());
    let id = client.generate(&["servlet-import"]);
    let (notifications, response) = client.run(id);
    assert_eq!(response["error"]["data"]["reason"], "private-copy", "{response}");
    assert_eq!(proposals(&notifications), []);
    assert_eq!(snapshot(&server.workspace()), before);
    server.put("fine", "");
    let id = client.generate(&["servlet-import"]);
    assert_eq!(client.response(id)["result"]["status"], "completed");
    assert_eq!(log(&server).matches("session/new").count(), 2);
}

#[test]
fn folders_that_are_nested_too_deep_are_reported_and_removed() {
    if !has_node() {
        return;
    }
    let (server, mut client) = with_tool_files("deep-folders", None);
    let id = client.generate(&["servlet-import"]);
    let (notifications, response) = client.run(id);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    let error = contents(&notifications, "error")[0]["details"].as_str().unwrap();
    assert!(error.contains("the path must be UTF-8, and not too long"), "{error}");
    assert_eq!(summary(&notifications), "0 of 1 incidents fixed, 1 not fixed");
    let deleted = client.call("kaiak/delete_session", &json!({ "session_id": SESSION }));
    let expected = json!({ "temp_files_removed": 1, "errors": [] });
    let summary = &deleted["result"]["cleanup_summary"];
    assert_eq!(json!({ "temp_files_removed": summary["temp_files_removed"], "errors": summary["errors"] }), expected);
    assert_eq!(copies(&server), 0);
}

#[test]
fn a_copy_that_is_not_cleaned_up_is_kept_and_the_log_has_its_path() {
    if !has_node() {
        return;
    }
    for level in ["warn", "info"] {
        let folder = folder();
        let log = folder.path().join("server.log");
        let mut command = command(&folder);
        command.args(["serve", "--stdio", "--log-level", level, "--backend", "acp", "--", "node"]).arg(scripted());
        command.arg("answer").env("TMPDIR", temporary(&folder)).stderr(File::create(&log).unwrap());
        let (server, mut client) = start(folder, command);
        server.put("src/A.java", JAVA_FILE);
        let id = client.generate(&["servlet-import"]);
        assert_eq!(client.response(id)["result"]["status"], "completed");
        let argument = json!({ "session_id": SESSION, "cleanup_files": false });
        let deleted = client.call("kaiak/delete_session", &argument);
        let summary = &deleted["result"]["cleanup_summary"];
        assert_eq!((&summary["temp_files_removed"], &summary["errors"]), (&json!(0), &json!([])), "{deleted}");
        let kept = fs::read_dir(server.folder.path().join("tmp")).unwrap().next().unwrap().unwrap().path();
        assert_eq!(fs::read_to_string(kept.join("src/A.java")).unwrap(), JAVA_FILE);
        let log = fs::read_to_string(&log).unwrap();
        let line = format!("the private copy {} is kept", kept.canonicalize().unwrap().display());
        assert_eq!(log.contains(&line), level == "info", "{log}");
    }
}
