//! The vectors of `tests/data/reconnect.json`, which `tests/data/README.md` defines, and properties of the reconnect
//! policy.
#![cfg(not(all(target_family = "wasm", target_os = "unknown")))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed test is a panic")]

use portway::reconnect::{Options, Reconnect, State, Verdict, full_jitter};
use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    name: String,
    #[serde(default)]
    options: Overrides,
    steps: Vec<Step>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Overrides {
    base: Option<u64>,
    cap: Option<u64>,
    hold: Option<u64>,
    restart: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    r#do: String,
    at: u64,
    code: Option<u16>,
    verdict: Option<String>,
    jitter: Option<u64>,
    granted: Option<bool>,
    state: Option<String>,
    #[serde(default, deserialize_with = "present")]
    due: Option<Option<u64>>,
    delay: Option<u64>,
    attempt: Option<u32>,
}

/// Deserializes a member to `Some`, even if it is null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u64>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[test]
fn the_policy_decides_as_its_vectors_specify() {
    let vectors: Vec<Vector> = serde_json::from_str(include_str!("data/reconnect.json")).unwrap();
    assert!(!vectors.is_empty());
    for vector in &vectors {
        let defaults = Options::DEFAULT;
        let mut policy = Reconnect::new(Options {
            base: vector.options.base.unwrap_or(defaults.base),
            cap: vector.options.cap.unwrap_or(defaults.cap),
            hold: vector.options.hold.unwrap_or(defaults.hold),
            restart: vector.options.restart.unwrap_or(defaults.restart),
        });
        for (index, step) in vector.steps.iter().enumerate() {
            let context = format!("{}, step {index} ({})", vector.name, step.r#do);
            run(&mut policy, step, &context);
            if let Some(state) = &step.state {
                assert_eq!(format!("{:?}", policy.state()).to_lowercase(), *state, "{context}");
            }
            if let Some(due) = step.due {
                assert_eq!(policy.poll_timeout(), due, "{context}");
            }
            if let Some(delay) = step.delay {
                assert_eq!(policy.delay(), delay, "{context}");
            }
            if let Some(attempt) = step.attempt {
                assert_eq!(policy.attempt(), attempt, "{context}");
            }
        }
    }
}

/// Performs a step. The messages of failed assertions contain `context`, which names the step.
fn run(policy: &mut Reconnect, step: &Step, context: &str) {
    match step.r#do.as_str() {
        "start" => policy.start(),
        "opened" => policy.opened(step.at),
        "timeout" => policy.handle_timeout(step.at),
        "hurry" => assert_eq!(policy.hurry(), step.granted.unwrap(), "{context}"),
        "close" => policy.close(),
        "lost" => {
            let verdict = step.verdict.as_deref().map(|verdict| match verdict {
                "stop" => Verdict::Stop,
                "back-off" => Verdict::BackOff,
                "wait-longer" => Verdict::WaitLonger,
                unknown => panic!("verdict must be stop, back-off or wait-longer, got {unknown}"),
            });
            policy.lost(step.at, step.code, verdict, |delay, _| delay * step.jitter.unwrap_or(100) / 100);
        }
        unknown => panic!("this test does not know the step {unknown}"),
    }
}

#[test]
fn the_default_options_are_the_values_in_the_table_of_limits() {
    #[derive(Deserialize)]
    struct Row {
        name: String,
        value: u64,
    }

    let rows: Vec<Row> = serde_json::from_str(include_str!("data/limits.json")).unwrap();
    let value = |name: &str| rows.iter().find(|row| row.name == name).unwrap().value;
    let expected = Options {
        base: value("reconnect-delay"),
        cap: value("reconnect-cap"),
        hold: value("reconnect-hold"),
        restart: value("restart-delay"),
    };
    assert_eq!(Options::default(), expected);
}

#[test]
fn full_jitter_spreads_a_thousand_clients_over_the_delay() {
    let delays: Vec<u64> = (0..1_000_u64).map(|n| full_jitter(30_000, u32::try_from(n * 4_294_967).unwrap())).collect();
    for second in 0..30 {
        let within = delays.iter().filter(|delay| **delay / 1_000 == second).count();
        assert!((30..=36).contains(&within), "{within} clients in second {second}");
    }
}

#[test]
fn full_jitter_reaches_zero_and_the_whole_delay_and_does_not_overflow() {
    assert_eq!(full_jitter(30_000, 0), 0);
    assert_eq!(full_jitter(30_000, u32::MAX), 30_000);
    assert_eq!(full_jitter(u64::MAX, u32::MAX), u64::MAX);
    assert_eq!(full_jitter(0, u32::MAX), 0);
}

#[test]
fn extreme_options_and_times_do_not_overflow() {
    let mut policy = Reconnect::new(Options { base: u64::MAX, cap: u64::MAX, hold: u64::MAX, restart: u64::MAX });
    policy.start();
    policy.opened(u64::MAX);
    for _ in 0..100 {
        policy.lost(u64::MAX, Some(1012), None, |delay, _| delay);
        assert_eq!((policy.state(), policy.poll_timeout()), (State::Waiting, Some(u64::MAX)));
        policy.handle_timeout(u64::MAX);
        assert_eq!(policy.state(), State::Connecting);
    }
}
