//! The validator of messages, for `js/validate.js`.

use wasm_bindgen::prelude::wasm_bindgen;

use portway_proto::message::{Kind, Shape};
use portway_proto::validate::{Code, Expect, Findings, Options, Severity, Subject, check, check_empty_batch};

#[wasm_bindgen(module = "/js/driver/wasm-callbacks.js")]
extern "C" {
    #[wasm_bindgen(js_name = onFinding)]
    fn on_finding(text: &str, is_error: bool);
}

/// Reports the rules that a message breaks. `expect` is 1 for a request, 2 for a response, and 3 for an empty batch.
/// For any other `expect`, the members of the message determine its kind. `facts` has three fields: from bit 0, the
/// shape of the message; from bit 24, the kind of the message itself; from bit 28, the kind of its `error.message`.
/// `code` is the `error.code` of the message, or NaN.
pub(super) fn validate(expect: u32, facts: u32, code: f64) {
    let expect = match expect {
        1 => Expect::Request,
        2 => Expect::Response,
        3 => return report(check_empty_batch()),
        _ => Expect::Either,
    };
    let subject = Subject {
        item: Kind::from_bits(facts >> 24 & 15),
        shape: Shape::from_bits(facts),
        error_code: Code::from_f64(code),
        error_message: Kind::from_bits(facts >> 28),
    };
    report(check(subject, Options { expect, ..Options::default() }));
}

fn report(findings: Findings) {
    for rule in findings.iter() {
        on_finding(rule.text(), rule.severity() == Severity::Error);
    }
}
