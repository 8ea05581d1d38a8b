//! No path leads out of the workspace.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::harness::{SESSION, exists, fix, stdio};

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
    let response = client.call("kaiak/generate_fix", &fix(SESSION, &["servlet-import"]));
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
    let response = client.call("kaiak/generate_fix", &fix(SESSION, &["servlet-import"]));
    assert_eq!(response["error"]["code"], -32002, "{response}");
    fs::create_dir(&folder).unwrap();
    let response = client.call("kaiak/generate_fix", &fix(SESSION, &["servlet-import"]));
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
    client.call("kaiak/generate_fix", &fix(SESSION, &["servlet-import"]));
    assert_eq!(server.read("src/A.java"), "import jakarta.servlet.Filter;\n");
    for path in ["src/gen/A.java", "other/A.java"] {
        assert_eq!(server.read(path), "import javax.servlet.Filter;\n");
    }
    assert_eq!(client.call("kaiak/generate_fix", &with_uri("other/A.java"))["error"]["code"], -32002);
}
