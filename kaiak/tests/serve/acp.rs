//! `kaiak/generate_fix` with the backend `acp`. The agents run in Node, and behave like real agents or like broken
//! agents.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::harness::{
    FIXED_JAVA_FILE, JAVA_FILE, SESSION, agent, agent_with, contents, fix, has_node, log, statuses, summary, wait_until,
};

#[test]
fn k21_the_parts_of_a_response_are_sent_and_then_the_whole_text_with_unknown_values_as_null() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("answer");
    let id = client.generate(&["servlet-import"]);
    let (notifications, response) = client.run(id);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    let content = |text, partial| json!({ "text": text, "partial": partial, "confidence": null, "tokens": null });
    let expected = [content("Hello, ", true), content("world", true), content("Hello, world", false)];
    assert_eq!(contents(&notifications, "ai_response"), expected.iter().collect::<Vec<_>>());
    assert_eq!(summary(&notifications), "0 of 1 incidents fixed, 1 not fixed");
    let log = log(&server);
    assert!(log.contains(r#"session/new {"cwd":true,"servers":[]}"#), "{log}");
    assert!(log.contains("servlet-import"), "{log}");
}

#[test]
fn a_change_that_the_agent_makes_by_itself_reaches_the_workspace_only_after_its_approval() {
    if !has_node() {
        return;
    }
    for approved in [false, true] {
        let (server, mut client) = agent("edit");
        let id = client.generate(&["servlet-import"]);
        let proposal = client.notification("file_modification");
        assert_eq!((&proposal["file_path"], &proposal["operation"]), (&json!("src/A.java"), &json!("modify")));
        assert_eq!((&proposal["risk_level"], &proposal["requires_approval"]), (&json!("medium"), &json!(true)));
        assert!(proposal["diff"].as_str().unwrap().contains("+import jakarta.servlet.Filter;"));
        assert_eq!(server.read("src/A.java"), JAVA_FILE);
        client.approve(approved);
        let (notifications, _) = client.run(id);
        assert_eq!(server.read("src/A.java"), if approved { FIXED_JAVA_FILE } else { JAVA_FILE });
        let fixed = usize::from(approved);
        assert_eq!(summary(&notifications), format!("{fixed} of 1 incidents fixed, {} not fixed", 1 - fixed));
    }
}

#[test]
fn an_unchanged_file_in_the_folder_target_is_not_reported_as_deleted() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("edit");
    fs::create_dir_all(server.workspace().join("target")).unwrap();
    fs::write(server.workspace().join("target/kept.txt"), "kept").unwrap();
    let workspace = json!({ "working_dir": server.workspace(), "exclude_patterns": [] });
    let permissions = json!({ "tool_permissions": { "write_file": "allow" } });
    client.configure(&json!({ "workspace": workspace, "permissions": permissions }));
    let id = client.generate(&["servlet-import"]);
    let (notifications, _) = client.run(id);
    assert_eq!(contents(&notifications, "file_modification").len(), 1);
    assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
    assert_eq!(server.read("target/kept.txt"), "kept");
}

#[test]
fn new_and_deleted_files_are_proposals_too() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("create");
    let id = client.generate(&["servlet-import"]);
    let mut operations = Vec::new();
    for _ in 0..2 {
        let proposal = client.notification("file_modification");
        operations.push((proposal["operation"].clone(), proposal["risk_level"].clone()));
        client.approve(true);
    }
    client.response(id);
    assert_eq!(operations, [(json!("create"), json!("medium")), (json!("delete"), json!("high"))]);
    assert_eq!(server.read("src/new/deep/B.java"), "class B {}\n");
    assert!(!server.workspace().join("src/A.java").exists());
}

#[test]
fn the_permission_allow_needs_no_question_and_deny_discards_the_change() {
    if !has_node() {
        return;
    }
    for (permission, text) in [("allow", FIXED_JAVA_FILE), ("deny", JAVA_FILE)] {
        let (server, mut client) = agent("edit");
        client.configure(&json!({ "permissions": { "tool_permissions": { "write_file": permission } } }));
        let id = client.generate(&["servlet-import"]);
        let (notifications, _) = client.run(id);
        assert_eq!(contents(&notifications, "user_interaction").len(), 0);
        assert_eq!(server.read("src/A.java"), text);
    }
}

#[test]
fn the_client_is_asked_before_a_write_request_is_answered() {
    if !has_node() {
        return;
    }
    for approved in [false, true] {
        let (server, mut client) = agent("fs-write");
        let id = client.generate(&["servlet-import"]);
        client.approve(approved);
        let (notifications, _) = client.run(id);
        assert_eq!(contents(&notifications, "user_interaction").len(), 0, "the change must cause no further question");
        assert_eq!(server.read("src/A.java"), if approved { FIXED_JAVA_FILE } else { JAVA_FILE });
        let log = log(&server);
        assert!(log.contains(r#"read {"content":"import javax.servlet.Filter;\n"}"#), "{log}");
        assert_eq!(log.contains("write \"written\""), approved, "{log}");
    }
}

#[test]
fn a_permission_request_for_an_unannounced_tool_causes_one_question() {
    if !has_node() {
        return;
    }
    for approved in [false, true] {
        let (server, mut client) = agent("permission");
        let id = client.generate(&["servlet-import"]);
        let question = client.approve(approved);
        assert_eq!(question["interaction_type"], "file_approval");
        let (notifications, response) = client.run(id);
        assert_eq!(response["result"]["status"], "completed", "{response}");
        assert_eq!(contents(&notifications, "user_interaction").len(), 0);
        assert_eq!(server.read("src/A.java"), if approved { FIXED_JAVA_FILE } else { JAVA_FILE });
        let option = if approved { "once" } else { "no" };
        let expected = format!(r#"permission {{"optionId":"{option}","outcome":"selected"}}"#);
        assert!(log(&server).contains(&expected), "{}", log(&server));
        let last = if approved { ["pending", "approved", "completed"].as_slice() } else { &["pending", "denied"] };
        assert_eq!(statuses(&notifications), last);
    }
}

#[test]
fn the_name_that_the_agent_gives_to_a_tool_selects_the_permission() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("named");
    client.configure(&json!({ "permissions": { "tool_permissions": { "replace": "deny", "write_file": "allow" } } }));
    let id = client.generate(&["servlet-import"]);
    let (notifications, _) = client.run(id);
    assert_eq!(statuses(&notifications), ["pending", "denied"]);
    assert_eq!(contents(&notifications, "tool_call")[0]["tool_name"], "replace");
    assert_eq!(server.read("src/A.java"), JAVA_FILE);
}

#[test]
fn an_option_that_allows_always_is_never_chosen() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("always-only");
    let id = client.generate(&["servlet-import"]);
    client.approve(true);
    let (notifications, _) = client.run(id);
    assert!(log(&server).contains(r#"permission {"outcome":"cancelled"}"#), "{}", log(&server));
    assert_eq!(statuses(&notifications), ["pending", "denied"]);
}

#[test]
fn an_agent_that_runs_a_denied_tool_is_stopped_and_its_changes_are_discarded() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("runs-denied");
    client.configure(
        &json!({ "permissions": { "tool_permissions": { "shell_command": "deny", "write_file": "allow" } } }),
    );
    let id = client.generate(&["servlet-import"]);
    let (notifications, response) = client.run(id);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    assert_eq!(statuses(&notifications), ["pending", "denied"]);
    assert_eq!(contents(&notifications, "error")[0]["error_code"], "TOOL_DENIED");
    assert_eq!(server.read("src/A.java"), JAVA_FILE);
    assert!(log(&server).contains("session/cancel"));
}

#[test]
fn too_many_tools_are_answered_with_32015_and_the_turn_is_cancelled() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("tools");
    let id = client.generate(&["servlet-import"]);
    let (_, response) = client.run(id);
    assert_eq!(response["error"]["code"], -32015, "{response}");
    assert_eq!(response["error"]["data"]["field"], "tools.max_tool_calls");
    wait_until(|| log(&server).contains("session/cancel"));
}

#[test]
fn the_output_and_the_parameters_of_a_tool_are_cut() {
    if !has_node() {
        return;
    }
    let (_server, mut client) = agent("output");
    let id = client.generate(&["servlet-import"]);
    let (notifications, _) = client.run(id);
    let calls = contents(&notifications, "tool_call");
    assert!(calls[0]["parameters"].to_string().len() < 70_000);
    let output = calls[1]["result"]["output"].as_str().unwrap();
    assert!(output.len() <= 65_536 && output.ends_with("[cut]"), "{}", output.len());
}

#[test]
fn a_tool_that_the_agent_does_not_finish_fails_at_the_end_of_the_turn() {
    if !has_node() {
        return;
    }
    let (_server, mut client) = agent("unfinished");
    let id = client.generate(&["servlet-import"]);
    let (notifications, _) = client.run(id);
    assert_eq!(statuses(&notifications), ["pending", "executing", "failed"]);
}

#[test]
fn the_plan_of_an_agent_is_progress() {
    if !has_node() {
        return;
    }
    let (_server, mut client) = agent("plan");
    let id = client.generate(&["servlet-import"]);
    let (notifications, _) = client.run(id);
    let plans: Vec<_> =
        contents(&notifications, "progress").into_iter().filter(|content| content["phase"] == "plan").collect();
    assert_eq!(plans.len(), 1);
    assert_eq!((&plans[0]["percentage"], &plans[0]["current_step"]), (&json!(50), &json!("Edit")));
}

#[test]
fn an_agent_reads_and_writes_nothing_outside_of_its_copy() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("outside");
    client.configure(&json!({ "permissions": { "tool_permissions": { "write_file": "allow" } } }));
    let id = client.generate(&["servlet-import"]);
    client.run(id);
    let log = log(&server);
    assert_eq!(log.matches("refused").count(), 4, "{log}");
    assert!(log.contains("missing -32002"), "{log}");
}

#[test]
fn a_request_for_a_file_without_its_params_is_refused_with_the_names_of_these_params() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("invalid-params");
    let id = client.generate(&["servlet-import"]);
    client.run(id);
    let log = log(&server);
    for (method, text) in [
        ("fs/read_text_file", "`path` must be a string"),
        ("fs/write_text_file", "`path` and `content` must be strings"),
    ] {
        let line = log.lines().find(|line| line.starts_with(method)).unwrap();
        assert!(line.contains(text) && line.contains("-32602"), "{line}");
    }
}

#[test]
fn one_tool_call_is_enough_for_an_agent_with_one_tool() {
    if !has_node() {
        return;
    }
    for behaviour in ["edit", "permission", "named"] {
        let (server, mut client) = agent(behaviour);
        client.configure(&json!({ "tools": { "max_tool_calls": 1 } }));
        let id = client.generate(&["servlet-import"]);
        // The behaviour `edit` causes a question after the turn, and the other behaviours cause a question during the
        // turn.
        client.approve(true);
        if behaviour == "named" {
            // The tool of this agent has no diff, so the server asks a second question, about the change.
            client.approve(true);
        }
        let (_, response) = client.run(id);
        assert_eq!(response["result"]["status"], "completed", "{behaviour}: {response}");
        assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE, "{behaviour}");
    }
}

#[test]
fn updates_before_the_session_and_after_the_turn_and_text_before_messages_do_no_harm() {
    if !has_node() {
        return;
    }
    for behaviour in ["early", "late", "banner"] {
        let (_server, mut client) = agent(behaviour);
        for _ in 0..2 {
            let id = client.generate(&["servlet-import"]);
            let (notifications, response) = client.run(id);
            assert_eq!(response["result"]["status"], "completed", "{behaviour}: {response}");
            let texts: Vec<_> =
                contents(&notifications, "ai_response").iter().map(|content| content["text"].clone()).collect();
            assert!(texts.contains(&json!("Hello, ")), "{behaviour}: {texts:?}");
            assert_eq!(texts.contains(&json!("too late")), behaviour == "late", "{texts:?}");
        }
    }
}

#[test]
fn a_question_without_an_answer_selects_the_option_reject_once() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent_with("permission", &["--interaction-timeout", "1"]);
    let id = client.generate(&["servlet-import"]);
    let (notifications, _) = client.run(id);
    assert_eq!(statuses(&notifications), ["pending", "timeout"]);
    assert!(log(&server).contains(r#"permission {"optionId":"no","outcome":"selected"}"#), "{}", log(&server));
    assert_eq!(server.read("src/A.java"), JAVA_FILE);
}

#[test]
fn custom_tools_become_servers_of_the_session_and_unsupported_kinds_cause_warnings() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("answer");
    let tools = json!([
        { "name": "one", "extension_type": "stdio", "config": { "command": "c", "args": ["a"], "env": { "K": "v" } } },
        { "name": "two", "extension_type": "platform", "config": {} },
    ]);
    let result = client.configure(&json!({ "tools": { "custom_tools": tools }, "model": { "temperature": 1 } }));
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("model.temperature") && warnings.contains("custom tool two"), "{warnings}");
    let id = client.generate(&["servlet-import"]);
    client.response(id);
    let expected = r#""servers":[{"args":["a"],"command":"c","env":[{"name":"K","value":"v"}],"name":"one"}]"#;
    assert!(log(&server).contains(expected), "{}", log(&server));
}

#[test]
fn a_tool_of_the_type_sse_causes_a_warning_if_the_agent_does_not_support_it() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("answer");
    let tools = json!([{ "name": "one", "extension_type": "sse", "config": { "url": "http://127.0.0.1:1/" } }]);
    let result = client.configure(&json!({ "tools": { "custom_tools": tools } }));
    assert_eq!(result["warnings"], json!([]));
    let id = client.generate(&["servlet-import"]);
    let (notifications, _) = client.run(id);
    let warning = "the custom tool one has no effect: the agent supports no tools of the type sse";
    let is_warned = contents(&notifications, "system").iter().any(|system| system["message"] == warning);
    assert!(is_warned, "{notifications:#?}");
    assert!(log(&server).contains(r#""servers":[]"#), "{}", log(&server));
}

#[test]
fn a_change_of_a_file_that_cannot_be_written_is_reported_without_a_question() {
    if !has_node() {
        return;
    }
    for behaviour in ["edit", "fs-write", "permission"] {
        let (server, mut client) = agent(behaviour);
        let path = server.workspace().join("src/A.java");
        fs::set_permissions(path, fs::Permissions::from_mode(0o444)).unwrap();
        let id = client.generate(&["servlet-import"]);
        let (notifications, response) = client.run(id);
        assert_eq!(response["result"]["status"], "completed", "{behaviour}: {response}");
        assert_eq!(contents(&notifications, "user_interaction").len(), 0, "{behaviour}");
        let error = contents(&notifications, "error")[0];
        assert_eq!(error["error_code"], "FILE_MODIFICATION_FAILED", "{behaviour}");
        assert_eq!(error["suggested_action"], "Allow writing, and request the fix again");
        assert_eq!(summary(&notifications), "0 of 1 incidents fixed, 1 not fixed");
        assert_eq!(server.read("src/A.java"), JAVA_FILE);
    }
}

#[test]
fn new_files_that_the_patterns_exclude_are_named_once() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("create");
    client.configure(&json!({
        "workspace": { "include_patterns": ["src/*.java"] },
        "permissions": { "tool_permissions": { "write_file": "allow" } },
    }));
    for is_first in [true, false] {
        server.put("src/A.java", JAVA_FILE);
        let id = client.generate(&["servlet-import"]);
        let (notifications, _) = client.run(id);
        let message = "the patterns of the workspace exclude new files of the agent: src/new/deep/B.java";
        let is_named = contents(&notifications, "system").iter().any(|system| system["message"] == message);
        assert_eq!(is_named, is_first, "{notifications:#?}");
        assert!(!server.workspace().join("src/new").exists());
    }
}

#[test]
fn an_incident_whose_file_is_missing_is_reported_without_a_turn() {
    if !has_node() {
        return;
    }
    let (server, mut client) = agent("edit");
    let mut argument = fix(SESSION, &["servlet-import"]);
    argument["incidents"][0]["uri"] = json!("src/missing.java");
    let id = client.command("kaiak/generate_fix", &argument);
    let (notifications, response) = client.run(id);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    assert_eq!(contents(&notifications, "error")[0]["error_code"], "FILE_ACCESS_FAILED");
    assert!(!log(&server).contains("prompt"), "{}", log(&server));
    argument["incidents"][0]["uri"] = json!("src");
    assert_eq!(client.call("kaiak/generate_fix", &argument)["error"]["code"], -32002);
}
