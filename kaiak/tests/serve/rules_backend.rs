//! `kaiak/generate_fix` with the backend `rules`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::{FIXED_JAVA_FILE, JAVA_FILE, SESSION, contents, fix, incident, is_time, stdio, stdio_with_file};

#[test]
fn k10_k11_k12_an_approved_fix_is_applied_and_the_response_follows_it() {
    let (server, mut client) = stdio_with_file();
    let id = client.generate(&["servlet-import"]);
    let question = client.approve(true);
    assert_eq!(question["interaction_type"], "file_approval");
    assert_eq!(question["prompt"], "Apply this fix to src/A.java?");
    let response = client.response(id);
    assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
    let result = &response["result"];
    assert_eq!(result["session_id"], SESSION);
    assert_eq!(result["status"], "completed");
    assert_eq!(result["incident_count"], 1);
    assert!(is_time(&result["completed_at"]), "{result}");
    assert!(result["request_id"].as_str().unwrap().starts_with("req-"), "{result}");
}

#[test]
fn a_denied_fix_leaves_the_file() {
    let (server, mut client) = stdio_with_file();
    let id = client.generate(&["servlet-import"]);
    client.approve(false);
    let (notifications, response) = client.run(id);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    assert_eq!(server.read("src/A.java"), JAVA_FILE);
    let summary = contents(&notifications, "system").pop().unwrap().clone();
    assert_eq!(summary["message"], "0 of 1 incidents fixed, 1 not fixed");
}

#[test]
fn auto_apply_safe_fixes_applies_only_fixes_of_low_risk_without_a_question() {
    let (server, mut client) = stdio_with_file();
    server.put("src/a.properties", "old.name=1\n");
    let mut argument = fix(SESSION, &["servlet-import", "old-property"]);
    argument["options"] = json!({ "auto_apply_safe_fixes": true });
    let id = client.command("kaiak/generate_fix", &argument);
    let question = client.approve(true);
    assert_eq!(question["prompt"], "Apply this fix to src/a.properties?");
    let (notifications, _) = client.run(id);
    assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
    assert_eq!(server.read("src/a.properties"), "new.name=1\n");
    let proposals = contents(&notifications, "file_modification");
    let proposals: Vec<_> =
        proposals.iter().map(|content| (&content["risk_level"], &content["requires_approval"])).collect();
    assert_eq!(proposals, [(&json!("low"), &json!(false)), (&json!("medium"), &json!(true))]);
    assert_eq!(contents(&notifications, "system").pop().unwrap()["message"], "2 of 2 incidents fixed, 0 not fixed");
}

#[test]
fn the_permission_allow_applies_all_fixes_without_a_question() {
    let (server, mut client) = stdio();
    server.put("src/a.properties", "old.name=1\nobsolete=2\nb=3\n");
    client.configure(&json!({ "permissions": { "tool_permissions": { "write_file": "allow" } } }));
    let id = client.generate(&["drop-line", "old-property"]);
    let (notifications, response) = client.run(id);
    assert_eq!(response["result"]["status"], "completed", "{response}");
    assert_eq!(contents(&notifications, "user_interaction").len(), 0);
    assert_eq!(server.read("src/a.properties"), "new.name=1\nb=3\n");
}

#[test]
fn a_denied_tool_never_runs_and_its_status_is_denied() {
    for tool in ["write_file", "read_file"] {
        let (server, mut client) = stdio_with_file();
        client.configure(&json!({ "permissions": { "tool_permissions": { tool: "deny" } } }));
        let id = client.generate(&["servlet-import"]);
        let (notifications, response) = client.run(id);
        assert_eq!(response["result"]["status"], "completed", "{response}");
        assert_eq!(server.read("src/A.java"), JAVA_FILE);
        let calls = contents(&notifications, "tool_call");
        let statuses: Vec<_> =
            calls.iter().filter(|call| call["tool_name"] == tool).map(|call| &call["status"]).collect();
        assert_eq!(statuses, ["denied"]);
        assert_eq!(contents(&notifications, "error")[0]["error_code"], "TOOL_DENIED");
        assert_eq!(contents(&notifications, "user_interaction").len(), 0);
    }
}

#[test]
fn k25_a_rule_without_a_mechanical_fix_is_a_recoverable_error_and_the_next_incident_is_fixed() {
    let (server, mut client) = stdio();
    server.put("src/A.java", "import javax.servlet.Filter;\nlegacyCall();\n");
    client.configure(&json!({ "permissions": { "tool_permissions": { "write_file": "allow" } } }));
    let id = client.generate(&["by-hand", "no-such-rule", "servlet-import"]);
    let (notifications, response) = client.run(id);
    assert_eq!(response["result"]["incident_count"], 3, "{response}");
    let errors = contents(&notifications, "error");
    assert_eq!(errors.len(), 2);
    for error in errors {
        assert_eq!((&error["error_code"], &error["recoverable"]), (&json!("NO_MECHANICAL_FIX"), &json!(true)));
        assert!(error["details"].is_string(), "{error}");
    }
    let actions: Vec<_> = contents(&notifications, "error").iter().map(|error| &error["suggested_action"]).collect();
    assert_eq!(
        actions,
        [
            "Fix the incident by hand, or use the backend `acp`",
            "Start `kaiak serve` with the rules of this incident, or use the backend `acp`"
        ]
    );
    assert_eq!(contents(&notifications, "system").pop().unwrap()["message"], "1 of 3 incidents fixed, 2 not fixed");
    assert_eq!(server.read("src/A.java"), "import jakarta.servlet.Filter;\nlegacyCall();\n");
}

#[test]
fn many_incidents_in_one_file_are_fixed_at_their_own_lines() {
    let (server, mut client) = stdio();
    let lines: String = (0..100).map(|number| format!("obsolete.{number}=1\nkept.{number}=2\n")).collect();
    let path = server.put("src/a.properties", &lines);
    client.configure(&json!({ "permissions": { "tool_permissions": { "write_file": "allow" } } }));
    let incidents: Vec<Value> = (0..99)
        .map(|number| {
            let mut incident = incident(&format!("incident-{number}"), "drop-line");
            incident["uri"] = json!(format!("file://{}", path.display()));
            incident["lineNumber"] = json!(number * 2 + 1);
            incident
        })
        .collect();
    let id = client.command("kaiak/generate_fix", &json!({ "session_id": SESSION, "incidents": incidents }));
    let (notifications, response) = client.run(id);
    assert_eq!(response["result"]["incident_count"], 99, "{response}");
    assert_eq!(contents(&notifications, "system").pop().unwrap()["message"], "99 of 99 incidents fixed, 0 not fixed");
    let mut expected: String = (0..99).map(|number| format!("kept.{number}=2\n")).collect();
    expected.push_str("obsolete.99=1\nkept.99=2\n");
    assert_eq!(server.read("src/a.properties"), expected);
}

#[test]
fn a_thousand_incidents_in_one_file_are_fixed() {
    let (server, mut client) = stdio();
    let lines: String = (0..1_000).map(|number| format!("import javax.servlet.C{number};\n")).collect();
    server.put("src/A.java", &lines);
    let incidents: Vec<Value> = (0..1_000)
        .map(|number| {
            let mut incident = incident(&format!("incident-{number}"), "servlet-import");
            incident["uri"] = json!("src/A.java");
            incident["lineNumber"] = json!(number + 1);
            incident
        })
        .collect();
    let options = json!({ "auto_apply_safe_fixes": true });
    let argument = json!({ "session_id": SESSION, "incidents": incidents, "options": options });
    let start = Instant::now();
    let id = client.command("kaiak/generate_fix", &argument);
    let (notifications, _) = client.run(id);
    println!("1 000 incidents in one file need {:?}", start.elapsed());
    assert_eq!(
        contents(&notifications, "system").pop().unwrap()["message"],
        "1000 of 1000 incidents fixed, 0 not fixed"
    );
    assert_eq!(server.read("src/A.java"), lines.replace("javax", "jakarta"));
}

#[test]
fn a_file_that_changes_while_its_question_is_open_is_not_overwritten() {
    let (server, mut client) = stdio_with_file();
    let id = client.generate(&["servlet-import"]);
    let question = client.notification("user_interaction");
    let changed = format!("{JAVA_FILE}// changed\n");
    server.put("src/A.java", &changed);
    client.answer(&question["interaction_id"], true);
    let (notifications, response) = client.run(id);
    assert_eq!(response["error"]["code"], -32012, "{response}");
    assert_eq!(response["error"]["message"], "File modification failed");
    assert_eq!(response["error"]["data"]["files"][0]["file_path"], "src/A.java");
    assert_eq!(contents(&notifications, "error")[0]["error_code"], "FILE_MODIFICATION_FAILED");
    assert_eq!(server.read("src/A.java"), changed);
}

#[test]
fn max_tool_calls_has_no_effect_on_rules_because_a_fix_has_no_loop() {
    let (server, mut client) = stdio_with_file();
    let configured = client.configure(&json!({ "tools": { "max_tool_calls": 1 } }));
    let warning = "tools.max_tool_calls has no effect: the backend `rules` calls no tools in a loop";
    assert_eq!(configured["warnings"], json!([warning]));
    let id = client.generate(&["servlet-import"]);
    client.approve(true);
    assert_eq!(client.response(id)["result"]["status"], "completed");
    assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
}

#[test]
fn a_thousand_incidents_are_processed_and_one_more_is_refused() {
    let (_server, mut client) = stdio();
    let rules = vec!["by-hand"; 1_000];
    let id = client.generate(&rules);
    let (_, response) = client.run(id);
    assert_eq!(response["result"]["incident_count"], 1_000, "{response}");
    let rules = vec!["by-hand"; 1_001];
    let response = client.fix(&rules);
    assert_eq!(
        (&response["error"]["code"], &response["error"]["data"]["field"]),
        (&json!(-32602), &json!("incidents"))
    );
}

#[test]
fn more_incidents_than_turns_are_answered_with_32015_before_the_first_change() {
    let (server, mut client) = stdio_with_file();
    client.configure(&json!({ "session": { "max_turns": 1 } }));
    let mut argument = fix(SESSION, &["servlet-import", "by-hand"]);
    argument["options"] = json!({ "auto_apply_safe_fixes": true });
    let id = client.command("kaiak/generate_fix", &argument);
    let (_, response) = client.run(id);
    assert_eq!(response["error"]["code"], -32015, "{response}");
    assert_eq!(response["error"]["data"]["field"], "session.max_turns");
    assert_eq!(server.read("src/A.java"), JAVA_FILE);
}

#[test]
fn an_incident_of_which_only_some_changes_are_approved_is_fixed_in_part() {
    let (server, mut client) = stdio();
    for path in ["src/A.java", "src/B.java", "src/C.java"] {
        server.put(path, JAVA_FILE);
    }
    let id = client.generate(&["servlet-import"]);
    for approved in [true, false, true] {
        client.approve(approved);
    }
    let (notifications, _) = client.run(id);
    let summary = contents(&notifications, "system").pop().unwrap().clone();
    assert_eq!(summary["message"], "0 of 1 incidents fixed, 0 not fixed, 1 fixed in part");
    assert_eq!(summary["level"], "warning");
    let are_fixed = ["src/A.java", "src/B.java", "src/C.java"].map(|path| server.read(path) == FIXED_JAVA_FILE);
    assert_eq!(are_fixed, [true, false, true]);
}

#[test]
fn a_request_that_is_stopped_after_a_change_sends_the_numbers_of_its_incidents() {
    let (server, mut client) = stdio_with_file();
    server.put("src/a.properties", "old.name=1\n");
    let mut argument = fix(SESSION, &["servlet-import", "old-property"]);
    argument["options"] = json!({ "auto_apply_safe_fixes": true });
    let id = client.command("kaiak/generate_fix", &argument);
    client.notification("user_interaction");
    client.call("kaiak/delete_session", &json!({ "session_id": SESSION, "force": true }));
    let (notifications, response) = client.run(id);
    assert_eq!(response["error"]["code"], -32004, "{response}");
    assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
    let summary = contents(&notifications, "system").pop().unwrap()["message"].clone();
    assert_eq!(summary, "1 of 2 incidents fixed, 0 not fixed, 1 not processed");
}

#[test]
fn a_line_without_a_file_has_no_effect() {
    let (server, mut client) = stdio_with_file();
    let mut argument = fix(SESSION, &["servlet-import"]);
    argument["incidents"][0]["lineNumber"] = json!(7);
    argument["options"] = json!({ "auto_apply_safe_fixes": true });
    client.call("kaiak/generate_fix", &argument);
    assert_eq!(server.read("src/A.java"), FIXED_JAVA_FILE);
}

#[test]
fn an_incident_without_a_place_is_not_counted_as_fixed_if_its_rule_has_changed_another_file() {
    let (server, mut client) = stdio_with_file();
    server.put("src/B.java", FIXED_JAVA_FILE);
    let mut argument = fix(SESSION, &["servlet-import", "servlet-import", "servlet-import"]);
    for (index, path) in ["src/A.java", "src/B.java", "src/A.java"].into_iter().enumerate() {
        argument["incidents"][index]["uri"] = json!(path);
    }
    argument["options"] = json!({ "auto_apply_safe_fixes": true });
    let id = client.command("kaiak/generate_fix", &argument);
    let (notifications, _) = client.run(id);
    assert_eq!(
        contents(&notifications, "system").pop().unwrap()["message"],
        "2 of 3 incidents fixed, 0 not fixed, 1 without a place in the workspace"
    );
}

#[test]
fn an_error_of_an_incident_that_is_fixed_in_part_is_about_some_of_its_places() {
    for (is_alone, message) in [
        (true, "The incident incident-0 of servlet-import is not fixed"),
        (false, "Some places of the incident incident-0 of servlet-import are not fixed"),
    ] {
        let (server, mut client) = stdio();
        let path = server.put("src/A.java", JAVA_FILE);
        fs::set_permissions(path, fs::Permissions::from_mode(0o444)).unwrap();
        if !is_alone {
            server.put("src/B.java", JAVA_FILE);
        }
        let mut argument = fix(SESSION, &["servlet-import"]);
        argument["options"] = json!({ "auto_apply_safe_fixes": true });
        let id = client.command("kaiak/generate_fix", &argument);
        let (notifications, _) = client.run(id);
        assert_eq!(contents(&notifications, "error")[0]["message"], message);
    }
}
