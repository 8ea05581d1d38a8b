//! The signature of `requestState`. The client keeps the earlier answers of a request in this text, and could change
//! it. MCP 2026-07-28 (basic/patterns/mrtr) requires that a server refuses a changed state.

use core::fmt::Write;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ring::hmac::{self, HMAC_SHA256, Key};
use ring::rand::SystemRandom;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::error::{RpcError, invalid_params};
use crate::json_value::Text;

/// The number of hexadecimal digits before the state.
const SIGNATURE_DIGITS: usize = 64;

/// The members of params that change between a request and its repetition with answers.
const CHANGING: [&str; 3] = ["_meta", "inputResponses", "requestState"];

/// The key of a server. Unless the application sets it, it is a random number.
#[derive(Default)]
pub(super) struct StateKey(Mutex<Option<Key>>);

impl StateKey {
    pub(super) fn set(&self, key: &[u8]) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Key::new(HMAC_SHA256, key));
    }

    fn get(&self) -> Result<Key, RpcError> {
        let mut key = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = &*key {
            return Ok(key.clone());
        }
        let random = Key::generate(HMAC_SHA256, &SystemRandom::new());
        let random = random.map_err(|_| RpcError::internal("there are no random numbers"))?;
        Ok(key.insert(random).clone())
    }
}

/// Signs the states of one request. A state of another request has another signature.
pub(super) struct StateSigner {
    key: Arc<StateKey>,
    method: Box<str>,
}

impl StateSigner {
    pub(super) fn new(key: &Arc<StateKey>, method: &str) -> Self {
        Self { key: Arc::clone(key), method: method.into() }
    }

    /// Returns the `requestState` for a state.
    pub(super) fn sign(&self, params: Option<&RawValue>, state: &str) -> Result<String, RpcError> {
        let tag = hmac::sign(&self.key.get()?, &self.signed_bytes(params, state));
        Ok(hexadecimal(tag.as_ref()) + state)
    }

    /// Returns the state in a `requestState`.
    pub(super) fn verify<'s>(&self, params: Option<&RawValue>, signed: &'s str) -> Result<&'s str, RpcError> {
        let (digits, state) = signed.split_at_checked(SIGNATURE_DIGITS).ok_or_else(unknown_state)?;
        let tag = bytes_of(digits).ok_or_else(unknown_state)?;
        hmac::verify(&self.key.get()?, &self.signed_bytes(params, state), &tag).map_err(|_| unknown_state())?;
        Ok(state)
    }

    /// Returns the bytes that the signature covers: the method, the params of the request, and the state. Each part is
    /// preceded by its length.
    fn signed_bytes(&self, params: Option<&RawValue>, state: &str) -> Vec<u8> {
        let params = repeated_params(params);
        let mut bytes = Vec::with_capacity(self.method.len() + params.len() + state.len() + 24);
        for part in [&*self.method, &params, state] {
            bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
        bytes
    }
}

/// Returns the error for a state that the server has not issued for this request.
pub(super) fn unknown_state() -> RpcError {
    invalid_params(
        "requestState must be the state that this server has sent for this request; send the request again without it",
    )
    .with_data(&json!({ "reason": "unknown-request-state" }))
}

/// Returns the members that a client repeats, in a form that does not depend on spaces and on the order of members.
fn repeated_params(params: Option<&RawValue>) -> String {
    let members: BTreeMap<String, Text> =
        params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default();
    let mut text = String::new();
    for (name, value) in members.iter().filter(|(name, _)| !CHANGING.contains(&name.as_str())) {
        // A value that is too deep, or has a number out of range, is compared as text.
        let value = serde_json::from_str::<Value>(value.get())
            .map_or_else(|_| value.get().to_owned(), |value| value.to_string());
        // A `String` accepts any text. `{name:?}` has quotes, so a name cannot look like a value.
        let _ = write!(text, "{name:?}:{value},");
    }
    text
}

/// Returns bytes as hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        // A `String` accepts any text.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// Returns the bytes of hexadecimal digits.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    (0..digits.len() / 2).map(|n| u8::from_str_radix(digits.get(2 * n..2 * n + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &str) -> Option<Text> {
        RawValue::from_string(text.into()).ok()
    }

    #[test]
    fn only_the_state_of_the_same_request_is_accepted() -> Result<(), RpcError> {
        let key = Arc::<StateKey>::default();
        let signer = StateSigner::new(&key, "tools/call");
        let request = params(r#"{"name":"a","arguments":{"x":1,"y":[2]},"_meta":{"n":1}}"#);
        let state = signer.sign(request.as_deref(), "{}")?;
        assert_eq!(signer.verify(request.as_deref(), &state)?, "{}");
        let repeated = r#"{ "inputResponses":{}, "arguments":{"y":[2],"x": 1},"name":"a","requestState":"s" }"#;
        assert_eq!(signer.verify(params(repeated).as_deref(), &state)?, "{}");
        for other in [
            r#"{"name":"b","arguments":{"x":1,"y":[2]}}"#,
            r#"{"name":"a","arguments":{"x":1,"y":[3]}}"#,
            r#"{"name":"a"}"#,
        ] {
            assert!(signer.verify(params(other).as_deref(), &state).is_err(), "{other}");
        }
        assert!(signer.verify(None, &state).is_err());
        let (digits, text) = state.split_at(SIGNATURE_DIGITS);
        let last = if digits.ends_with('0') { '1' } else { '0' };
        for changed in [
            String::new(),
            "{}".to_owned(),
            text.to_owned() + digits,
            format!("{}{last}{text}", &digits[..SIGNATURE_DIGITS - 1]),
            format!("{digits}{{}} "),
            format!("{}é", &digits[..SIGNATURE_DIGITS - 1]),
            format!("+{}{text}", &digits[1..]),
        ] {
            assert!(signer.verify(request.as_deref(), &changed).is_err(), "{changed}");
        }
        assert!(StateSigner::new(&key, "prompts/get").verify(request.as_deref(), &state).is_err());
        let other = Arc::<StateKey>::default();
        assert!(StateSigner::new(&other, "tools/call").verify(request.as_deref(), &state).is_err());
        Ok(())
    }

    #[test]
    fn servers_with_the_same_key_accept_the_states_of_each_other() -> Result<(), RpcError> {
        let keys: [Arc<StateKey>; 2] = Default::default();
        keys.iter().for_each(|key| key.set(&[7; 32]));
        let [one, other] = keys.each_ref().map(|key| StateSigner::new(key, "tools/call"));
        assert_eq!(other.verify(None, &one.sign(None, "{}")?)?, "{}");
        Ok(())
    }
}
