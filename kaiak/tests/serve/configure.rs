//! The command `kaiak/configure`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crate::harness::{Client, command, folder, is_time, start, stdio};

fn configure(client: &mut Client, configuration: &Value) -> Value {
    client.call("kaiak/configure", &json!({ "configuration": configuration }))
}

/// Returns a configuration with all members of the contract.
fn example(working_dir: &str) -> Value {
    json!({
        "workspace": {
            "working_dir": working_dir,
            "include_patterns": ["**/*.java", "**/*.xml"],
            "exclude_patterns": [".git/**", "target/**"],
        },
        "model": { "provider": "databricks", "model": "llama", "temperature": 0.1, "max_tokens": 4096 },
        "tools": {
            "enabled_extensions": ["developer", "todo"],
            "custom_tools": [{ "name": "t", "extension_type": "stdio", "config": { "command": "c" } }],
            "planning_mode": true,
            "max_tool_calls": 12,
        },
        "session": { "max_turns": 99, "retry_config": { "max_retries": 3 } },
        "permissions": { "tool_permissions": {
            "read_file": "allow", "write_file": "approve", "shell_command": "deny", "web_search": "allow",
        } },
    })
}

#[test]
fn k7_k8_the_whole_configuration_is_applied_and_returned() {
    let (server, mut client) = stdio();
    let configuration = example(server.workspace().to_str().unwrap());
    let result = client.configure(&configuration);
    assert_eq!(result["configuration_applied"], configuration);
    assert_eq!(result["status"], "success");
    assert_eq!(result["message"], "Agent configured successfully");
    assert!(is_time(&result["timestamp"]), "{result}");
}

#[test]
fn k8_a_warning_names_each_member_without_effect() {
    let (server, mut client) = stdio();
    let result = client.configure(&example(server.workspace().to_str().unwrap()));
    let warnings: Vec<&str> =
        result["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    for field in ["model.provider", "model.temperature", "tools.planning_mode", "session.retry_config"] {
        assert!(warnings.iter().any(|warning| warning.starts_with(field)), "{field}: {warnings:?}");
    }
    let result = client.configure(&json!({ "session": { "max_turns": 5 } }));
    assert_eq!(result["warnings"], json!([]));
    let result = client.configure(&json!({ "session": { "max_turns": 5, "speed": 1 }, "colour": 2 }));
    let warnings = json!(["colour: unknown member, ignored", "session.speed: unknown member, ignored"]);
    assert_eq!(result["warnings"], warnings);
}

#[test]
fn k7_a_configuration_merges_over_the_present_one_and_reset_existing_starts_from_the_defaults() {
    let (server, mut client) = stdio();
    let defaults = client.configure(&json!({}))["configuration_applied"].clone();
    assert_eq!(defaults["workspace"]["working_dir"], server.workspace().to_str().unwrap());
    assert_eq!(defaults["session"]["max_turns"], 1_000);
    assert_eq!(defaults["tools"]["max_tool_calls"], 10);
    let mut expected = example(server.workspace().to_str().unwrap());
    client.configure(&expected);
    let change = json!({ "tools": { "max_tool_calls": 3 }, "permissions": { "tool_permissions": { "mine": "deny" } } });
    expected["tools"]["max_tool_calls"] = json!(3);
    expected["permissions"]["tool_permissions"]["mine"] = json!("deny");
    assert_eq!(client.configure(&change)["configuration_applied"], expected);
    let argument = json!({ "configuration": { "model": { "model": "m" } }, "reset_existing": true });
    let response = client.call("kaiak/configure", &argument);
    let mut expected = defaults;
    expected["model"]["model"] = json!("m");
    assert_eq!(response["result"]["configuration_applied"], expected);
}

#[test]
fn k9_a_missing_working_dir_is_answered_with_32014_and_its_path() {
    let (_server, mut client) = stdio();
    let response = configure(&mut client, &json!({ "workspace": { "working_dir": "/invalid/path" } }));
    let data = json!({ "field": "workspace.working_dir", "details": "Directory '/invalid/path' does not exist" });
    let error = json!({ "code": -32014, "message": "Configuration error: Invalid workspace directory", "data": data });
    assert_eq!(response["error"], error);
}

#[test]
fn k9_a_working_dir_must_be_a_directory_with_at_most_4096_characters() {
    let (server, mut client) = stdio();
    server.put("file", "");
    for path in ["file", "", "with\0nul", &"a/".repeat(2_049)] {
        let response = configure(&mut client, &json!({ "workspace": { "working_dir": path } }));
        assert_eq!(response["error"]["code"], -32014, "{path:.20}");
        assert_eq!(response["error"]["data"]["field"], "workspace.working_dir");
    }
    let result = client.configure(&json!({ "workspace": { "working_dir": "src" } }));
    let working_dir = server.workspace().join("src");
    assert_eq!(result["configuration_applied"]["workspace"]["working_dir"], working_dir.to_str().unwrap());
}

#[test]
fn an_invalid_value_is_answered_with_32014_and_changes_nothing() {
    let (_server, mut client) = stdio();
    let before = client.configure(&json!({}))["configuration_applied"].clone();
    for (configuration, field) in [
        (json!({ "workspace": 5 }), "workspace"),
        (json!({ "workspace": { "include_patterns": [] } }), "workspace.include_patterns"),
        (json!({ "workspace": { "include_patterns": ["[z-a]"] } }), "workspace.include_patterns[0]"),
        (json!({ "workspace": { "exclude_patterns": ["a", 5] } }), "workspace.exclude_patterns[1]"),
        (json!({ "model": { "provider": "" } }), "model.provider"),
        (json!({ "model": { "temperature": 2.5 } }), "model.temperature"),
        (json!({ "model": { "max_tokens": 0 } }), "model.max_tokens"),
        (json!({ "model": { "max_tokens": 1.5 } }), "model.max_tokens"),
        (json!({ "tools": { "enabled_extensions": "developer" } }), "tools.enabled_extensions"),
        (json!({ "tools": { "planning_mode": "yes" } }), "tools.planning_mode"),
        (json!({ "tools": { "max_tool_calls": 0 } }), "tools.max_tool_calls"),
        (json!({ "tools": { "max_tool_calls": 10_001 } }), "tools.max_tool_calls"),
        (
            json!({ "tools": { "custom_tools": [{ "name": "t", "extension_type": "exe", "config": {} }] } }),
            "tools.custom_tools[0].extension_type",
        ),
        (
            json!({ "tools": { "custom_tools": [{ "name": "t", "extension_type": "sse" }] } }),
            "tools.custom_tools[0].config",
        ),
        (json!({ "session": { "max_turns": -1 } }), "session.max_turns"),
        (json!({ "session": { "retry_config": [] } }), "session.retry_config"),
        (json!({ "permissions": { "tool_permissions": {} } }), "permissions.tool_permissions"),
        (
            json!({ "permissions": { "tool_permissions": { "read_file": "always" } } }),
            "permissions.tool_permissions.read_file",
        ),
    ] {
        // If one member is invalid, a valid member must have no effect either.
        let mut configuration = configuration;
        configuration["model"]["model"] = json!("never applied");
        let response = configure(&mut client, &configuration);
        assert_eq!(response["error"]["code"], -32014, "{field}: {response}");
        assert_eq!(response["error"]["data"]["field"], field, "{response}");
        assert_eq!(response["error"]["message"], format!("Configuration error: Invalid {field}"));
    }
    assert_eq!(client.configure(&json!({}))["configuration_applied"], before);
}

#[test]
fn an_invalid_argument_of_configure_is_answered_with_32602() {
    let (_server, mut client) = stdio();
    for (argument, field) in [
        (json!({}), "configuration"),
        (json!({ "configuration": [] }), "configuration"),
        (json!({ "configuration": {}, "reset_existing": 1 }), "reset_existing"),
    ] {
        let response = client.call("kaiak/configure", &argument);
        assert_eq!(response["error"]["code"], -32602, "{response}");
        assert_eq!(response["error"]["data"]["field"], field);
    }
}

#[test]
fn a_configuration_that_grows_over_its_limit_is_refused() {
    let (_server, mut client) = stdio();
    let mut last = client.configure(&json!({}))["configuration_applied"].clone();
    let refused = (0..200).find_map(|number| {
        let names = (0..100).map(|name| (format!("{:0>90}", number * 100 + name), json!("deny")));
        let permissions: serde_json::Map<String, Value> = names.collect();
        let response = configure(&mut client, &json!({ "permissions": { "tool_permissions": permissions } }));
        if response["error"].is_null() {
            last = response["result"]["configuration_applied"].clone();
        }
        response.get("error").cloned()
    });
    let refused = refused.unwrap();
    assert_eq!((&refused["code"], &refused["data"]["field"]), (&json!(-32014), &json!("configuration")));
    assert!(last.to_string().len() > 1_000_000);
    assert_eq!(client.configure(&json!({}))["configuration_applied"], last);
}

#[test]
fn at_most_100_warnings_are_returned() {
    let (_server, mut client) = stdio();
    let unknown: serde_json::Map<String, Value> =
        (0..1_000).map(|number| (format!("unknown{number}"), json!(1))).collect();
    let result = client.configure(&Value::Object(unknown));
    let warnings = result["warnings"].as_array().unwrap();
    assert_eq!((warnings.len(), &warnings[100]), (101, &json!("and 900 more")));
}

#[test]
fn patterns_that_are_too_large_together_are_answered_with_32014() {
    let (_server, mut client) = stdio();
    let patterns = vec!["?*".repeat(500); 1_000];
    let response = configure(&mut client, &json!({ "workspace": { "include_patterns": patterns } }));
    assert_eq!(response["error"]["code"], -32014, "{response}");
    assert_eq!(response["error"]["data"]["field"], "workspace.include_patterns");
    assert_eq!(client.fix(&["by-hand"])["result"]["status"], "completed");
}

#[test]
fn a_server_in_a_folder_whose_name_is_not_utf8_can_be_configured() {
    let folder = folder();
    let workspace = folder.path().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&workspace).unwrap();
    let mut command = command(&folder);
    command.current_dir(workspace).args(["serve", "--stdio", "--rules"]).arg(folder.path().join("rules"));
    let (_server, mut client) = start(folder, command);
    let result = client.configure(&json!({ "session": { "max_turns": 5 } }));
    let working_dir = result["configuration_applied"]["workspace"]["working_dir"].as_str().unwrap();
    assert!(working_dir.ends_with("/caf\u{fffd}"), "{working_dir}");
}
