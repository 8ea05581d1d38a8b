//! The data of an error.

use serde::Serialize;
use serde::de::DeserializeOwned;
#[cfg(not(all(target_family = "wasm", target_os = "unknown", feature = "browser")))]
use serde_json::value::to_raw_value;

#[cfg(all(target_family = "wasm", target_os = "unknown", feature = "browser"))]
use crate::browser::JsData;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
use crate::echo;
#[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
use crate::json_value::Text;

/// The data of an error. Outside of browsers, the data is JSON text. In browsers, it is JSON text if the error was
/// converted from an `ErrorObject` of JSON text, and a JavaScript value in all other cases.
#[derive(Clone, Debug)]
pub(crate) enum ErrorData {
    #[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
    Json(Text),
    #[cfg(all(target_family = "wasm", target_os = "unknown", feature = "browser"))]
    Js(JsData),
}

impl ErrorData {
    /// Serializes data. If the serialization fails, the text of its error becomes the data.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown", feature = "browser")))]
    pub(super) fn serialize(data: &(impl Serialize + ?Sized)) -> Option<Self> {
        to_raw_value(data).or_else(|problem| to_raw_value(&problem.to_string())).ok().map(Self::Json)
    }

    /// Serializes data. If the serialization fails, the text of its error becomes the data.
    #[cfg(all(target_family = "wasm", target_os = "unknown", feature = "browser"))]
    pub(super) fn serialize(data: &(impl Serialize + ?Sized)) -> Option<Self> {
        JsData::serialize(data).map(Self::Js)
    }

    pub(super) fn deserialize<T: DeserializeOwned>(&self) -> Result<T, String> {
        match self {
            #[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
            Self::Json(text) => {
                serde_json::from_str(text.get()).map_err(|problem| echo::shorten_middle(problem.to_string()))
            }
            #[cfg(all(target_family = "wasm", target_os = "unknown", feature = "browser"))]
            Self::Js(data) => data.deserialize(),
        }
    }

    /// Converts the data to JSON text. Returns `None` if JSON cannot express the data.
    #[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
    pub(super) fn into_json(self) -> Option<Text> {
        match self {
            Self::Json(text) => Some(text),
            #[cfg(all(target_family = "wasm", target_os = "unknown", feature = "browser"))]
            Self::Js(data) => data.to_json(),
        }
    }
}

/// Compares JSON text by its bytes, and JavaScript values by `===`.
impl PartialEq for ErrorData {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            #[cfg(any(not(all(target_family = "wasm", target_os = "unknown")), feature = "codec"))]
            (Self::Json(one), Self::Json(other)) => one.get() == other.get(),
            #[cfg(all(target_family = "wasm", target_os = "unknown", feature = "browser"))]
            (Self::Js(one), Self::Js(other)) => one.value == other.value,
            #[cfg(all(target_family = "wasm", target_os = "unknown", feature = "browser", feature = "codec"))]
            _ => false,
        }
    }
}
