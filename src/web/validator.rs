//! The validator, for `validate.js`.

use wasm_bindgen::prelude::wasm_bindgen;

use crate::message::{Kind, Shape};
use crate::validate::{Code, Expect, Findings, Options, Severity, Subject, check, check_empty_batch};

#[wasm_bindgen(module = "/src/web/wasm-callbacks.js")]
extern "C" {
    #[wasm_bindgen(js_name = onFinding)]
    fn tell_finding(text: &str, is_error: bool);
}

/// Tells the rules that an element breaks. `expect` is 1 for a request, 2 for a response, 3 for at least one element, else
/// it is taken by its looks. `facts` are its shape and, from bit 24 on, its own kind and that of its `error.message`;
/// `code` is its `error.code`, or no number.
pub(super) fn validate(expect: u32, facts: u32, code: f64) {
    let expect = match expect {
        1 => Expect::Request,
        2 => Expect::Response,
        3 => return tell(check_empty_batch()),
        _ => Expect::Either,
    };
    let subject = Subject {
        item: Kind::from_bits(facts >> 24 & 15),
        shape: Shape::from_bits(facts),
        error_code: Code::from_f64(code),
        error_message: Kind::from_bits(facts >> 28),
    };
    tell(check(subject, Options { expect, ..Options::default() }));
}

fn tell(findings: Findings) {
    for rule in findings.iter() {
        tell_finding(rule.text(), rule.severity() == Severity::Error);
    }
}
