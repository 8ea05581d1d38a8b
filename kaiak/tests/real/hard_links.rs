//! Files with several names, which are hard links. A fix creates a new file for a name in the workspace, and never
//! changes the file of a name outside of the workspace.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::json;

use crate::harness::{FIXED_JAVA_FILE, JAVA_FILE, agent_program, command, folder, stdio};
use crate::programs::{has_sdk_agent, sdk_agent};

#[test]
fn fix_leaves_the_name_outside_of_the_workspace_and_fixes_each_name_in_it() {
    let folder = folder();
    let (inside, outside) = (folder.path().join("workspace/src"), folder.path().join("Outside.java"));
    fs::write(&outside, JAVA_FILE).unwrap();
    for name in ["A.java", "B.java"] {
        fs::hard_link(&outside, inside.join(name)).unwrap();
    }
    let mut command = command(&folder);
    command.args(["fix", "--quiet", "--rules", "../rules", "--rule", "servlet-import", "."]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for name in ["A.java", "B.java"] {
        assert_eq!(fs::read_to_string(inside.join(name)).unwrap(), FIXED_JAVA_FILE);
        assert_eq!(fs::metadata(inside.join(name)).unwrap().nlink(), 1);
    }
    assert_eq!(fs::read_to_string(&outside).unwrap(), JAVA_FILE);
    assert_eq!(fs::metadata(&outside).unwrap().nlink(), 1);
    assert_eq!(fs::read_dir(&inside).unwrap().count(), 2);
}

#[test]
fn an_approved_fix_of_the_server_leaves_the_name_outside_of_the_workspace() {
    let (server, mut client) = stdio();
    let outside = server.folder.path().join("Outside.java");
    fs::write(&outside, JAVA_FILE).unwrap();
    fs::hard_link(&outside, server.workspace().join("src/A.java")).unwrap();
    let id = client.generate(&["servlet-import"]);
    client.approve(true);
    assert_eq!(client.response(id)["result"]["status"], "completed");
    assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
    assert_eq!(fs::read_to_string(&outside).unwrap(), JAVA_FILE);
}

#[test]
fn an_agent_that_writes_into_its_copy_changes_no_other_name_of_the_file() {
    if !has_sdk_agent() {
        return;
    }
    let (server, mut client) = agent_program(&sdk_agent(), &["direct", "silent"], &[]);
    let outside = server.folder.path().join("Outside.java");
    fs::write(&outside, JAVA_FILE).unwrap();
    for name in ["A.java", "B.java"] {
        fs::hard_link(&outside, server.workspace().join("src").join(name)).unwrap();
    }
    client.configure(&json!({ "tools": { "max_tool_calls": 100 } }));
    let id = client.generate(&["servlet-import"]);
    // The agent has already written both files of its copy.
    client.approve(true);
    client.approve(false);
    assert_eq!(client.response(id)["result"]["status"], "completed");
    assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
    assert_eq!(server.read("src/B.java"), JAVA_FILE);
    assert_eq!(fs::read_to_string(&outside).unwrap(), JAVA_FILE);
}
