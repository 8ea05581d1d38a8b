//! Tests of the notifications of the protocol, in the form of each profile.

use alloc::boxed::Box;
use alloc::string::{String, ToString};

use serde_json::value::RawValue;

use crate::connection::control::{self, Control, StreamRequest};
use crate::message::{Id, Notification};
use crate::profile::{CancelNotification, Profile, ProgressNotification, ProgressValue};

type Json = Box<RawValue>;

fn json(text: &str) -> Json {
    RawValue::from_string(text.to_string()).expect("JSON")
}

/// Returns a profile with the cancellation and the progress of the Model Context Protocol.
fn mcp_profile() -> Profile {
    let mut profile = Profile::LSP;
    profile.cancel =
        &CancelNotification { method: "notifications/cancelled", member: "requestId", reason: Some("reason") };
    profile.progress = &ProgressNotification {
        method: "notifications/progress",
        token: "progressToken",
        value: ProgressValue::Params,
    };
    profile
}

/// Reads a notification with the JSON text `params`, or without params if the text is empty.
fn read(profile: &Profile, method: &str, params: &str) -> Option<Control<Id, String>> {
    let params = (!params.is_empty()).then(|| json(params));
    let notification = Notification::<Json> { method: method.into(), params };
    Some(match control::read(profile, &notification)? {
        Control::Cancel(id) => Control::Cancel(id),
        Control::Progress { token, value } => Control::Progress { token, value: value.get().to_string() },
        Control::Item { id, value } => Control::Item { id, value: value.get().to_string() },
        Control::Credit { id, count } => Control::Credit { id, count },
        Control::Malformed => Control::Malformed,
    })
}

#[test]
fn a_cancellation_has_the_method_and_members_of_the_profile() {
    let id = Id::Integer(7);
    for (profile, method, params) in [
        (Profile::GENERIC, "$/cancelRequest", r#"{"id":7}"#),
        (Profile::ACP, "$/cancel_request", r#"{"requestId":7}"#),
        (mcp_profile(), "notifications/cancelled", r#"{"requestId":7,"reason":"a \"b\""}"#),
    ] {
        assert_eq!(read(&profile, method, params), Some(Control::Cancel(id.clone())));
        let written: Option<Json> = control::write_cancel(profile.cancel, &id, Some("a \"b\""));
        assert_eq!(written.as_deref().map(RawValue::get), Some(params));
        for malformed in ["", "[7]", "{}", r#"{"id":{},"requestId":[]}"#] {
            assert_eq!(read(&profile, method, malformed), None, "{malformed}");
        }
    }
    assert_eq!(read(&Profile::ACP, "$/cancelRequest", r#"{"id":7}"#), None);
    let written: Option<Json> = control::write_cancel(mcp_profile().cancel, &Id::from("x"), None);
    assert_eq!(written.as_deref().map(RawValue::get), Some(r#"{"requestId":"x"}"#));
}

#[test]
fn progress_has_the_form_of_the_profile() {
    let progress = |token: Id, value: &str| Some(Control::Progress { token, value: value.to_string() });
    let generic = Profile::GENERIC;
    assert_eq!(read(&generic, "$/progress", r#"{"value":[1],"token":"x"}"#), progress(Id::from("x"), "[1]"));
    assert_eq!(read(&generic, "$/progress", r#"{"token":1}"#), progress(Id::Integer(1), "null"));
    assert_eq!(read(&generic, "$/progress", r#"{"value":1}"#), None);
    assert_eq!(read(&generic, "$/progress", r#"["x",1]"#), None);
    let written = control::write_progress(generic.progress, &Id::Integer(1), &json("[1]"));
    assert_eq!(written.as_deref().map(RawValue::get), Some(r#"{"token":1,"value":[1]}"#));

    let mcp = mcp_profile();
    let params = r#"{"progressToken":1,"progress":50,"total":100}"#;
    assert_eq!(read(&mcp, "notifications/progress", params), progress(Id::Integer(1), params));
    let write = |value: &str| control::write_progress(mcp.progress, &Id::Integer(1), &json(value));
    let written = write(r#" { "progress":50,"total":100 } "#);
    assert_eq!(written.as_deref().map(RawValue::get), Some(params));
    assert_eq!(write("{ }").as_deref().map(RawValue::get), Some(r#"{"progressToken":1}"#));
    for not_an_object in ["50", "[50]", "null", r#""{}""#] {
        assert!(write(not_an_object).is_none(), "{not_an_object}");
    }
}

#[test]
fn the_params_of_items_and_credit_are_objects() {
    let generic = Profile::GENERIC;
    let written: Option<Json> = control::write_item(&Id::from("a\n"), &json("{}"));
    assert_eq!(written.as_deref().map(RawValue::get), Some(r#"{"id":"a\n","value":{}}"#));
    let item = |id: Id, value: &str| Some(Control::Item { id, value: value.to_string() });
    assert_eq!(read(&generic, "rpc.item", r#"{"id":"a\n","value":{}}"#), item(Id::from("a\n"), "{}"));
    assert_eq!(read(&generic, "rpc.item", r#"{"id":null}"#), item(Id::Null, "null"));
    let written: Option<Json> = control::write_credit(&Id::Integer(3), 4);
    assert_eq!(written.as_deref().map(RawValue::get), Some(r#"{"id":3,"count":4}"#));
    let credit = Some(Control::Credit { id: Id::Integer(3), count: 4 });
    assert_eq!(read(&generic, "rpc.credit", r#"{"count":4,"id":3}"#), credit);
    for (method, params) in [
        ("rpc.item", ""),
        ("rpc.item", r#"{"value":1}"#),
        ("rpc.item", "[3,1]"),
        ("rpc.credit", ""),
        ("rpc.credit", r#"{"id":3}"#),
        ("rpc.credit", r#"{"id":3,"count":0}"#),
        ("rpc.credit", r#"{"id":3,"count":65537}"#),
        ("rpc.credit", r#"{"id":3,"count":-1}"#),
        ("rpc.credit", r#"{"id":3,"count":1.5}"#),
        ("rpc.credit", r#"{"id":3,"count":"1"}"#),
        ("rpc.credit", r#"{"id":{},"count":1}"#),
        ("rpc.credit", "[3,4]"),
    ] {
        assert_eq!(read(&generic, method, params), Some(Control::Malformed), "{method} {params}");
    }
    assert_eq!(read(&generic, "rpc.other", "{}"), None);
}

#[test]
fn a_request_for_a_stream_has_a_method_and_credit() {
    let (written, bare): (Option<Json>, Option<Json>) =
        (control::write_stream_request("a\"", Some(&json("[1]")), 16), control::write_stream_request("b", None, 1));
    assert_eq!(written.as_deref().map(RawValue::get), Some(r#"{"method":"a\"","params":[1],"credit":16}"#));
    assert_eq!(bare.as_deref().map(RawValue::get), Some(r#"{"method":"b","credit":1}"#));
    let params = written.expect("an object");
    let Some(StreamRequest { method, params, credit }) = control::read_stream_request(&params) else {
        panic!("the params must be a valid request")
    };
    assert_eq!((&*method, params.map(RawValue::get), credit), ("a\"", Some("[1]"), 16));
    let params = json(r#"{"credit":1,"method":"b","params":null}"#);
    let request = control::read_stream_request(&params).expect("the params must be a valid request");
    assert_eq!((&*request.method, request.params.map(RawValue::get)), ("b", None));
    for params in [r#"["b",[],1]"#, r#"{"credit":1}"#, r#"{"method":1,"credit":1}"#, r#"{"method":"b","credit":0}"#] {
        assert!(control::read_stream_request(&json(params)).is_none(), "{params}");
    }
}
