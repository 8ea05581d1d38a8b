//! Tests of the rules and of the report.

use super::*;
use Kind::{Array, Boolean, EmptyString, Fraction, Integer, Missing, Null, Object, Other, String};
use alloc::vec::Vec;

const NOTHING: Shape = Shape::from_bits(0);
const CALL: Shape = Shape { version: true, id: Integer, method: String, ..NOTHING };
const SUCCESS: Shape = Shape { version: true, id: Integer, result: Object, ..NOTHING };
const FAILURE: Shape = Shape { version: true, id: Integer, error: Object, ..NOTHING };

const REQUEST: Options = Options { expect: Expect::Request, null_params_are_absent: false };
const RESPONSE: Options = Options { expect: Expect::Response, null_params_are_absent: false };

/// Returns the findings about an element with this shape. The code and the message of its error are valid.
fn findings(shape: Shape, options: Options) -> Vec<Rule> {
    let subject = Subject { item: Object, shape, error_code: Code::Integer(1), error_message: String };
    check(subject, options).iter().copied().collect()
}

/// Returns the findings about a response with this error.
fn findings_in_error(error_code: Code, error_message: Kind) -> Vec<Rule> {
    check(Subject { item: Object, shape: FAILURE, error_code, error_message }, RESPONSE).iter().copied().collect()
}

#[test]
fn well_formed_messages_have_no_findings() {
    for shape in [CALL, Shape { params: Array, ..CALL }, Shape { params: Object, ..CALL }] {
        assert_eq!(findings(shape, REQUEST), []);
        assert_eq!(findings(shape, Options::default()), []);
    }
    for shape in [SUCCESS, FAILURE] {
        assert_eq!(findings(shape, RESPONSE), []);
        assert_eq!(findings(shape, Options::default()), []);
    }
}

#[test]
fn requests_and_responses_need_the_version() {
    assert_eq!(findings(Shape { version: false, ..CALL }, REQUEST), [Rule::Version]);
    assert_eq!(findings(Shape { version: false, ..SUCCESS }, RESPONSE), [Rule::Version]);
}

#[test]
fn a_method_is_a_string_that_is_not_empty() {
    for method in [Missing, Null, EmptyString] {
        assert_eq!(findings(Shape { method, ..CALL }, REQUEST), [Rule::MethodMissing], "{method:?}");
    }
    for method in [Boolean, Integer, Fraction, Array, Object, Other] {
        assert_eq!(findings(Shape { method, ..CALL }, REQUEST), [Rule::MethodNotString], "{method:?}");
    }
}

#[test]
fn params_are_an_array_or_an_object() {
    for params in [Null, Boolean, Integer, Fraction, String, EmptyString, Other] {
        assert_eq!(findings(Shape { params, ..CALL }, REQUEST), [Rule::ParamsNotStructured], "{params:?}");
    }
}

#[test]
fn null_params_are_valid_if_the_options_allow_them() {
    let lenient = Options { null_params_are_absent: true, ..REQUEST };
    assert_eq!(findings(Shape { params: Null, ..CALL }, lenient), []);
    assert_eq!(findings(Shape { params: String, ..CALL }, lenient), [Rule::ParamsNotStructured]);
}

#[test]
fn an_id_is_a_string_a_number_or_null() {
    for id in [Null, Integer, Fraction, String, EmptyString] {
        assert_eq!(findings(Shape { id, ..CALL }, REQUEST), [], "{id:?}");
    }
    for id in [Boolean, Array, Object, Other] {
        assert_eq!(findings(Shape { id, ..CALL }, REQUEST), [Rule::IdOfWrongType], "{id:?}");
    }
}

#[test]
fn a_request_without_id_is_valid_with_a_warning() {
    assert_eq!(findings(Shape { id: Missing, ..CALL }, REQUEST), [Rule::NoId]);
    assert_eq!(Rule::NoId.severity(), Severity::Warning);
}

#[test]
fn a_response_has_either_the_member_result_or_the_member_error() {
    assert_eq!(findings(Shape { result: Missing, ..SUCCESS }, RESPONSE), [Rule::NoOutcome]);
    assert_eq!(findings(Shape { result: Null, ..SUCCESS }, RESPONSE), []);
    assert_eq!(findings(Shape { error: Object, ..SUCCESS }, RESPONSE), [Rule::TwoOutcomes]);
    assert_eq!(findings(Shape { error: Null, ..SUCCESS }, RESPONSE), [Rule::TwoOutcomes, Rule::ErrorNotObject]);
}

#[test]
fn a_response_has_an_id_of_any_type() {
    assert_eq!(findings(Shape { id: Missing, ..SUCCESS }, RESPONSE), [Rule::ResponseIdMissing]);
    for id in [Null, Boolean, Array, Object] {
        assert_eq!(findings(Shape { id, ..SUCCESS }, RESPONSE), [], "{id:?}");
    }
}

#[test]
fn an_error_is_an_object_with_an_integer_as_code_and_a_string_as_message() {
    for error in [Null, Boolean, Integer, String, Array] {
        assert_eq!(findings(Shape { error, ..FAILURE }, RESPONSE), [Rule::ErrorNotObject], "{error:?}");
    }
    assert_eq!(findings_in_error(Code::NotInteger, String), [Rule::ErrorCodeNotInteger]);
    for message in [Missing, Null, Integer, Object] {
        assert_eq!(findings_in_error(Code::Integer(1), message), [Rule::ErrorMessageNotString], "{message:?}");
    }
    assert_eq!(findings_in_error(Code::Integer(1), EmptyString), []);
    assert_eq!(findings_in_error(Code::NotInteger, Missing), [Rule::ErrorCodeNotInteger, Rule::ErrorMessageNotString]);
}

#[test]
fn reserved_codes_have_one_warning() {
    for code in [-32099, -32050, -32000] {
        assert_eq!(findings_in_error(Code::Integer(code), String), [Rule::ServerErrorCode], "{code}");
    }
    for code in [-32768, -32700, -32603, -32600, -32100] {
        assert_eq!(findings_in_error(Code::Integer(code), String), [Rule::ReservedErrorCode], "{code}");
    }
    for code in [-32769, -31999, 0, 1, i64::MAX] {
        assert_eq!(findings_in_error(Code::Integer(code), String), [], "{code}");
    }
}

#[test]
fn integers_are_numbers_without_a_fraction() {
    assert_eq!(Code::from_f64(1.0), Code::Integer(1));
    assert_eq!(Code::from_f64(-32000.0), Code::Integer(-32000));
    assert_eq!(Code::from_f64(9_007_199_254_740_993.0), Code::Integer(9_007_199_254_740_992));
    assert_eq!(Code::from_f64(9e18), Code::Integer(9_000_000_000_000_000_000));
    assert_eq!(Code::from_f64(1e300), Code::Integer(i64::MAX));
    assert_eq!(Code::from_f64(-1e300), Code::Integer(i64::MIN));
    for number in [0.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(Code::from_f64(number), Code::NotInteger, "{number}");
    }
}

#[test]
fn a_message_that_is_not_an_object_breaks_only_the_first_rule() {
    for item in [Null, Boolean, Integer, String, Array, Other] {
        for options in [Options::default(), REQUEST, RESPONSE] {
            assert!(check(Subject::not_an_object(item), options).iter().eq([&Rule::Version]), "{item:?}");
        }
    }
}

#[test]
fn without_an_expected_kind_the_member_method_selects_the_rules() {
    let call_with_result = Shape { result: Object, ..CALL };
    assert_eq!(findings(call_with_result, Options::default()), []);
    assert_eq!(findings(Shape { method: Missing, ..CALL }, Options::default()), [Rule::NoOutcome]);
    assert_eq!(findings(Shape { method: Null, ..CALL }, Options::default()), [Rule::MethodMissing]);
}

#[test]
fn all_findings_are_collected() {
    let shape = Shape { version: false, id: Object, method: Integer, params: String, ..NOTHING };
    assert_eq!(
        findings(shape, REQUEST),
        [Rule::Version, Rule::MethodNotString, Rule::ParamsNotStructured, Rule::IdOfWrongType]
    );
    assert_eq!(findings(NOTHING, RESPONSE), [Rule::Version, Rule::NoOutcome, Rule::ResponseIdMissing]);
}

#[test]
fn findings_of_a_batch_name_their_element() {
    let error = Findings::NONE.with(Rule::Version);
    let warning = Findings::NONE.with(Rule::NoId);
    let report = Report::batch([Findings::NONE, warning, error]);
    assert!(!report.is_valid());
    assert_eq!(report.errors(), ["[Item 2] Missing or invalid \"jsonrpc\" field (must be \"2.0\")"]);
    assert_eq!(report.warnings(), ["[Item 1] No \"id\" field - this is a notification"]);
}

/// The npm package reads the texts from wasm as ASCII, since some JavaScript realms have no `TextDecoder`.
#[test]
fn texts_are_ascii() {
    for rule in Rule::ALL {
        assert!(rule.text().is_ascii(), "{rule:?}");
    }
}

#[test]
fn an_empty_batch_has_its_own_error() {
    let report = Report::batch([]);
    assert_eq!(report.errors(), ["Batch must not be empty"]);
    assert!(!report.is_valid());
}

#[test]
fn a_finding_about_a_single_message_has_no_prefix() {
    let report = Report::single(Findings::NONE.with(Rule::NoId));
    assert!(report.is_valid());
    assert_eq!(report.warnings(), ["No \"id\" field - this is a notification"]);
}
