//! The files of incidents: no path leads out of the workspace, and files that cannot be read or changed are reported.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::harness::{FIXED_JAVA_FILE, JAVA_FILE, SESSION, contents, exists, fix, stdio, stdio_with_file, summary};

fn with_uri(uri: &str) -> Value {
    let mut argument = fix(SESSION, &["servlet-import"]);
    argument["incidents"][0]["uri"] = json!(uri);
    argument
}

#[test]
fn a_path_out_of_the_workspace_is_answered_with_32002_and_changes_nothing() {
    let (server, mut client) = stdio();
    let root = server.workspace();
    let beside = root.parent().unwrap().join("workspace-evil");
    fs::create_dir(&beside).unwrap();
    fs::write(beside.join("A.java"), "import javax.servlet.Filter;\n").unwrap();
    symlink(&beside, root.join("link")).unwrap();
    symlink(beside.join("A.java"), root.join("A.java")).unwrap();
    symlink(beside.join("missing.java"), root.join("dangling.java")).unwrap();
    client.configure(&json!({ "permissions": { "tool_permissions": { "write_file": "allow" } } }));
    let evil = format!("file://{}/A.java", beside.display());
    for uri in
        ["../workspace-evil/A.java", "link/A.java", "A.java", "dangling.java", "/etc/passwd", &evil, "src/../../x"]
    {
        let response = client.call("kaiak/generate_fix", &with_uri(uri));
        assert_eq!(response["error"]["code"], -32002, "{uri}: {response}");
        assert_eq!(response["error"]["message"], "Workspace access denied");
    }
    let response = client.fix(&["servlet-import"]);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    assert_eq!(fs::read_to_string(beside.join("A.java")).unwrap(), "import javax.servlet.Filter;\n");
    assert!(!exists(&beside.join("missing.java")));
}

#[test]
fn a_vanished_workspace_is_answered_with_32002() {
    let (server, mut client) = stdio();
    let folder = server.workspace().join("vanishing");
    fs::create_dir(&folder).unwrap();
    client.configure(&json!({ "workspace": { "working_dir": folder } }));
    fs::remove_dir(&folder).unwrap();
    let response = client.fix(&["servlet-import"]);
    assert_eq!(response["error"]["code"], -32002, "{response}");
    fs::create_dir(&folder).unwrap();
    let response = client.fix(&["servlet-import"]);
    assert_eq!(response["result"]["status"], "completed", "{response}");
}

#[test]
fn only_files_that_the_patterns_select_are_changed() {
    let (server, mut client) = stdio();
    for path in ["src/A.java", "src/gen/A.java", "other/A.java"] {
        server.put(path, "import javax.servlet.Filter;\n");
    }
    client.configure(&json!({
        "workspace": { "include_patterns": ["src/**"], "exclude_patterns": ["src/gen/**"] },
        "permissions": { "tool_permissions": { "write_file": "allow" } },
    }));
    client.fix(&["servlet-import"]);
    assert_eq!(server.read("src/A.java"), "import jakarta.servlet.Filter;\n");
    for path in ["src/gen/A.java", "other/A.java"] {
        assert_eq!(server.read(path), "import javax.servlet.Filter;\n");
    }
    assert_eq!(client.call("kaiak/generate_fix", &with_uri("other/A.java"))["error"]["code"], -32002);
}

/// Returns a request with one incident of `servlet-import` for each path. Fixes of low risk need no approval.
fn with_uris(paths: &[&str]) -> Value {
    let mut argument = fix(SESSION, &vec!["servlet-import"; paths.len()]);
    for (index, path) in paths.iter().enumerate() {
        argument["incidents"][index]["uri"] = json!(path);
    }
    argument["options"] = json!({ "auto_apply_safe_fixes": true });
    argument
}

/// Returns the error codes of the incidents, and the message of the last `system` notification.
fn errors_and_summary(notifications: &[Value]) -> (Vec<&Value>, String) {
    let codes = contents(notifications, "error").into_iter().map(|error| &error["error_code"]).collect();
    (codes, summary(notifications))
}

#[test]
fn an_excluded_path_and_a_path_of_no_regular_file_are_refused_before_the_first_change() {
    let (server, mut client) = stdio_with_file();
    server.put("target/T.java", JAVA_FILE);
    fs::create_dir(server.workspace().join("folder.java")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, server.workspace().join("pipe.java"), rustix::fs::Mode::RUSR).unwrap();
    for bad in ["target/T.java", "folder.java", "pipe.java"] {
        let response = client.call("kaiak/generate_fix", &with_uris(&["src/A.java", bad]));
        assert_eq!(response["error"]["code"], -32002, "{bad}: {response}");
        assert!(response["error"]["data"]["path"].as_str().unwrap().contains(bad), "{response}");
        assert_eq!(server.read("src/A.java"), JAVA_FILE, "{bad}");
    }
}

#[test]
fn a_file_that_becomes_a_link_before_its_turn_is_reported_and_the_others_are_fixed() {
    let (server, mut client) = stdio();
    let paths = ["src/A.java", "src/B.java", "src/C.java"];
    for path in paths {
        server.put(path, JAVA_FILE);
    }
    let outside = server.folder.path().join("outside.java");
    fs::write(&outside, JAVA_FILE).unwrap();
    let mut argument = with_uris(&paths);
    argument["options"] = json!(null);
    let id = client.command("kaiak/generate_fix", &argument);
    let question = client.notification("user_interaction");
    fs::remove_file(server.workspace().join("src/B.java")).unwrap();
    symlink(&outside, server.workspace().join("src/B.java")).unwrap();
    client.answer(&question["interaction_id"], true);
    client.approve(true);
    let (notifications, response) = client.run(id);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    let (codes, summary) = errors_and_summary(&notifications);
    assert_eq!(codes, ["FILE_ACCESS_FAILED"]);
    assert_eq!(summary, "2 of 3 incidents fixed, 1 not fixed");
    assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
    assert_eq!(server.read("src/C.java"), FIXED_JAVA_FILE);
    assert_eq!(fs::read_to_string(outside).unwrap(), JAVA_FILE);
}

#[test]
fn a_file_that_becomes_a_link_or_a_pipe_before_its_approval_is_answered_with_32012_after_the_others() {
    for is_pipe in [false, true] {
        let (server, mut client) = stdio();
        for path in ["src/A.java", "src/B.java"] {
            server.put(path, JAVA_FILE);
        }
        let mut argument = with_uris(&["src/A.java", "src/B.java"]);
        argument["options"] = json!(null);
        let id = client.command("kaiak/generate_fix", &argument);
        let question = client.notification("user_interaction");
        let path = server.workspace().join("src/A.java");
        fs::remove_file(&path).unwrap();
        if is_pipe {
            rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
        } else {
            symlink("/etc/passwd", &path).unwrap();
        }
        client.answer(&question["interaction_id"], true);
        client.approve(true);
        let (notifications, response) = client.run(id);
        assert_eq!(response["error"]["code"], -32012, "{response}");
        let files: Vec<_> = response["error"]["data"]["files"].as_array().unwrap().iter().collect();
        assert_eq!((files.len(), &files[0]["file_path"]), (1, &json!("src/A.java")));
        let (codes, summary) = errors_and_summary(&notifications);
        assert_eq!(codes, ["FILE_MODIFICATION_FAILED"]);
        assert_eq!(summary, "1 of 2 incidents fixed, 1 not fixed");
        assert_eq!(server.read("src/B.java"), FIXED_JAVA_FILE);
    }
}

#[test]
fn a_file_of_an_incident_that_cannot_be_searched_is_reported() {
    let (server, mut client) = stdio();
    let large = format!("{JAVA_FILE}{}", "// x\n".repeat(600_000));
    for (path, content) in
        [("L.java", b"// \xe9\nimport javax.servlet.A;\n".as_slice()), ("N.java", b"\0"), ("G.java", large.as_bytes())]
    {
        fs::write(server.workspace().join(path), content).unwrap();
    }
    for path in ["L.java", "N.java", "G.java", "missing.java", "missing/A.java"] {
        let id = client.command("kaiak/generate_fix", &with_uris(&[path]));
        let (notifications, response) = client.run(id);
        assert_eq!(response["result"]["status"], "completed", "{response}");
        let (codes, summary) = errors_and_summary(&notifications);
        assert_eq!(codes, ["FILE_ACCESS_FAILED"], "{path}");
        assert_eq!(summary, "0 of 1 incidents fixed, 1 not fixed", "{path}");
    }
}

#[test]
fn without_a_path_the_files_that_are_not_searched_are_named_once() {
    let (server, mut client) = stdio();
    fs::write(server.workspace().join("L.java"), b"// \xe9\nimport javax.servlet.A;\n").unwrap();
    let id = client.generate(&["servlet-import"]);
    let (notifications, _) = client.run(id);
    let (codes, summary) = errors_and_summary(&notifications);
    assert_eq!(codes, ["FILE_ACCESS_FAILED"]);
    assert_eq!(summary, "0 of 1 incidents fixed, 1 not fixed");
    server.put("src/A.java", JAVA_FILE);
    let mut argument = fix(SESSION, &["servlet-import", "servlet-import"]);
    argument["options"] = json!({ "auto_apply_safe_fixes": true });
    let id = client.command("kaiak/generate_fix", &argument);
    let (notifications, _) = client.run(id);
    let named: Vec<_> =
        notifications.iter().filter(|message| message.to_string().contains("not searched: L.java")).collect();
    assert_eq!(named.len(), 1, "{notifications:#?}");
    assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
}

#[test]
fn a_change_that_cannot_succeed_is_reported_without_a_question() {
    let (server, mut client) = stdio();
    let large = format!("{JAVA_FILE}//{}\n", "x".repeat(2 * 1_048_576 - JAVA_FILE.len() - 3));
    let control = format!("import javax.servlet.A; //{}\n", "\u{1}".repeat(2_000_000));
    for (content, is_read_only, action) in [
        (JAVA_FILE, true, "Allow writing, and request the fix again"),
        // The new name is longer, so the result has more than 2 MiB.
        (&large, false, "Fix this file by hand"),
        // In JSON, a control character needs six bytes, so the diff needs more than 10 MiB.
        (&control, false, "Fix this file by hand"),
    ] {
        let path = server.put("src/A.java", content);
        fs::set_permissions(&path, fs::Permissions::from_mode(if is_read_only { 0o444 } else { 0o644 })).unwrap();
        let id = client.generate(&["servlet-import"]);
        let (notifications, response) = client.run(id);
        assert_eq!(response["result"]["status"], "completed", "{response}");
        assert!(notifications.iter().all(|message| message["method"] != "kaiak/stream/user_interaction"));
        let error = notifications.iter().find(|message| message["method"] == "kaiak/stream/error").unwrap();
        let content_of_error = &error["params"]["content"];
        assert_eq!(content_of_error["error_code"], "FILE_MODIFICATION_FAILED");
        assert_eq!(content_of_error["suggested_action"], action);
        assert_eq!(server.read("src/A.java"), content);
        fs::remove_file(path).unwrap();
    }
}
