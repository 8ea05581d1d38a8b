//! The native tests of code for both Rust APIs. The tests in browsers are in `tests/wasm/portability.rs`.

use std::error::Error;

use crate::portable;

#[test]
fn one_match_on_both_apis_describes_each_call_error() {
    for (found, expected) in portable::descriptions() {
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn one_application_runs_on_both_apis() -> Result<(), Box<dyn Error>> {
    assert_eq!(portable::run().await?, portable::RESULTS);
    Ok(())
}
