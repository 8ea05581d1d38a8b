//! The validator, for `validate.js`.

use wasm_bindgen::prelude::wasm_bindgen;

use super::Core;
use crate::message::{Kind, Shape};
use crate::validate::{Code, Expect, Findings, Options, Severity, Subject, check, check_empty_batch};

#[wasm_bindgen(module = "/src/web/told.js")]
extern "C" {
    #[wasm_bindgen(js_name = tellFinding)]
    fn tell_finding(text: &str, is_error: bool);
}

#[wasm_bindgen]
impl Core {
    /// Tells the rules that an element breaks. `code` is its `error.code`, or no number; `message` the kind of its
    /// `error.message`; `expect` 1 for a request, 2 for a response, 3 for at least one element, else by its looks.
    pub fn validate(&self, item: u32, shape: u32, code: f64, message: u32, expect: u32) {
        let expect = match expect {
            1 => Expect::Request,
            2 => Expect::Response,
            3 => return tell(check_empty_batch()),
            _ => Expect::Either,
        };
        let subject = Subject {
            item: Kind::from_bits(item),
            shape: Shape::from_bits(shape),
            error_code: Code::from_f64(code),
            error_message: Kind::from_bits(message),
        };
        tell(check(subject, Options { expect, ..Options::default() }));
    }
}

fn tell(findings: Findings) {
    for rule in findings.iter() {
        tell_finding(rule.text(), rule.severity() == Severity::Error);
    }
}
