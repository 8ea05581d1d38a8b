//! The vectors of `tests/data/mcp-era.json`, which `tests/data/README.md` defines.

use portway::mcp::{Era, EraDetection, Failure, LEGACY_VERSIONS, MODERN_VERSIONS, Reply, State};
use serde::Deserialize;

type Test = Result<(), Box<dyn std::error::Error>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    name: String,
    modern: Option<Vec<String>>,
    legacy: Option<Vec<String>>,
    first: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    reply: ReplyData,
    state: String,
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum ReplyData {
    Discovered { discovered: Vec<String> },
    Initialized { initialized: String },
    Error { error: i64, supported: Option<Vec<String>> },
    Status { status: u16 },
    Unusable(String),
}

#[test]
fn the_era_is_detected_as_its_vectors_specify() -> Test {
    let vectors: Vec<Vector> = serde_json::from_str(include_str!("../data/mcp-era.json"))?;
    assert!(vectors.len() >= 50);
    for Vector { name, modern, legacy, first, steps } in vectors {
        let modern = versions(modern, MODERN_VERSIONS);
        let legacy = versions(legacy, LEGACY_VERSIONS);
        let mut detection = EraDetection::with_versions(modern, legacy);
        assert_eq!(text(detection.state()), first, "{name}");
        for (index, step) in steps.iter().enumerate() {
            handle(&mut detection, &step.reply);
            assert_eq!(text(detection.state()), step.state, "{name}, step {index}");
        }
    }
    Ok(())
}

/// Returns the versions of a vector, or `default`.
fn versions(versions: Option<Vec<String>>, default: &'static [&'static str]) -> &'static [&'static str] {
    let Some(versions) = versions else { return default };
    versions.into_iter().map(|version| &*version.leak()).collect::<Vec<_>>().leak()
}

fn handle(detection: &mut EraDetection, reply: &ReplyData) {
    match reply {
        ReplyData::Discovered { discovered } => detection.handle(Reply::Discovered(&texts(discovered))),
        ReplyData::Initialized { initialized } => detection.handle(Reply::Initialized(initialized)),
        ReplyData::Error { error, supported } => {
            let supported = supported.as_deref().map(texts);
            detection.handle(Reply::Error { code: *error, supported: supported.as_deref() });
        }
        ReplyData::Status { status } => detection.handle(Reply::Status(*status)),
        ReplyData::Unusable(word) => {
            assert_eq!(word, "unusable");
            detection.handle(Reply::Unusable);
        }
    }
}

fn texts(versions: &[String]) -> Vec<&str> {
    versions.iter().map(String::as_str).collect()
}

/// Returns a state as the vectors write it.
fn text(state: State) -> String {
    match state {
        State::Discover(version) => format!("discover {version}"),
        State::Initialize(version) => format!("initialize {version}"),
        State::Settled(Era::Modern, version) => format!("modern {version}"),
        State::Settled(Era::Legacy, version) => format!("legacy {version}"),
        State::Failed(Failure::NoCommonVersion) => "failed no-common-version".into(),
        State::Failed(Failure::Denied(status)) => format!("failed denied {status}"),
        State::Failed(Failure::InitializeRefused) => "failed initialize-refused".into(),
    }
}
