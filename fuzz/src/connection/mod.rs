//! Two connections that exchange messages on virtual time, and a third party that sends any bytes to both of them.

mod endpoint;
mod operation;

use std::num::NonZeroU32;

use arbitrary::{Arbitrary, Unstructured};
use portway::Limits;
use portway::connection::{Config, Refused};
use portway::message::{Message, Notification, Outgoing, Request, RequestId};
use portway::profile::Profile;

use endpoint::{Endpoint, error, payload};
use operation::{Action, Operation, Outcome};

/// Maximum number of operations of one input. More operations take more time, and find no further faults.
const MAX_OPERATIONS: usize = 120;

/// Executes the operations that the bytes encode, and then ends all calls and requests. Each call must end once, and
/// each request must be answered once.
pub fn connection(bytes: &[u8]) {
    let mut bytes = Unstructured::new(bytes);
    let Ok(configs) = <[u8; 2]>::arbitrary(&mut bytes) else { return };
    let mut world = World::new(configs);
    // `cargo xtask fuzz --input` sets this variable.
    let prints_operations = std::env::var_os("PORTWAY_FUZZ_SHOW").is_some();
    for _ in 0..MAX_OPERATIONS {
        // Without bytes, `arbitrary` would return zeroes without end.
        let Some(operation) = (!bytes.is_empty()).then(|| Operation::arbitrary(&mut bytes).ok()).flatten() else {
            break;
        };
        if prints_operations {
            eprintln!("{operation:?}");
        }
        world.step(operation);
    }
    world.finish();
}

struct World {
    endpoints: [Endpoint; 2],
    now: u64,
    /// For each connection, whether it has received bytes from the third party.
    has_foreign_input: [bool; 2],
    /// Whether a frame was lost.
    is_lossy: bool,
}

impl World {
    fn new(configs: [u8; 2]) -> Self {
        Self {
            endpoints: configs.map(|bits| Endpoint::new(config(bits))),
            now: 0,
            has_foreign_input: [false; 2],
            is_lossy: false,
        }
    }

    fn step(&mut self, Operation { end: index, act }: Operation) {
        let Some((end, other)) = pair(&mut self.endpoints, index) else { return };
        let was_closed = end.link.is_closed();
        let cannot_call = was_closed || end.input_ended;
        let has_room = |calls: usize| end.link.pending_calls() + calls <= end.link.config().limits.pending_calls;
        match act {
            Action::Call { method, params, timeout } => {
                let has_room = has_room(1);
                match end.link.call(method.into(), params.and_then(payload), timeout) {
                    Ok(key) => end.call_began(key, timeout, true),
                    Err(refused) => check_refusal(refused, cannot_call, has_room),
                }
            }
            Action::Begin { timeout } => {
                let has_room = has_room(1);
                match end.link.begin_call(timeout, None) {
                    Ok(key) => end.call_began(key, timeout, false),
                    Err(refused) => check_refusal(refused, cannot_call, has_room),
                }
            }
            Action::Batch { calls, timeout } => {
                end.batches += 1;
                let batch = NonZeroU32::new(end.batches);
                let mut messages = Vec::new();
                for is_call in calls {
                    if !is_call {
                        messages.push(Message::Notification(Notification { method: "n".into(), params: None }));
                        continue;
                    }
                    let has_room = end.link.pending_calls() < end.link.config().limits.pending_calls;
                    match end.link.begin_call(timeout, batch) {
                        Ok(key) => {
                            end.call_began(key, timeout, true);
                            let id = RequestId::from_call(key.id());
                            messages.push(Message::Request(Request { id, method: "c".into(), params: None }));
                        }
                        Err(refused) => check_refusal(refused, cannot_call, has_room),
                    }
                }
                // Like a driver, this code writes the requests after `begin_call`.
                if !messages.is_empty() && !was_closed {
                    end.transmit(Outgoing::Batch(messages));
                }
            }
            Action::Notify { method, params } => {
                let sent = end.link.notify(method.into(), params.and_then(payload));
                assert_eq!(sent, if was_closed { Err(Refused::Closed) } else { Ok(()) });
            }
            Action::Cancel { call } => end_call(end, call, |end, key| end.link.cancel(key)),
            Action::Abandon { call } => end_call(end, call, |end, key| end.link.abandon(key)),
            Action::Restart { call, timeout } => {
                if let Some((key, waits)) = end.pick_call(call) {
                    assert_eq!(end.link.restart(key, timeout), waits);
                    if let Some(call) = end.calls.get_mut(&key.id()) {
                        (call.timeout, call.since) = (timeout, None);
                    }
                }
            }
            Action::Respond { request, outcome } => respond(end, request, outcome),
            Action::Deliver { frames } => {
                for _ in 0..=frames {
                    let Some(frame) = other.sent.pop_front() else { break };
                    end.receive(frame.as_bytes());
                    end.drain(self.now, other, self.has_foreign_input[index]);
                }
            }
            Action::Lose => self.is_lossy |= end.sent.pop_front().is_some(),
            Action::Repeat => {
                if let Some(frame) = end.sent.front().cloned() {
                    end.sent.push_front(frame);
                }
            }
            Action::Hostile { text } => {
                self.has_foreign_input[index] = true;
                end.receive(&text);
            }
            Action::Wait { milliseconds } => self.now += milliseconds,
            Action::EndInput => {
                end.input_ended = true;
                end.link.handle_end();
            }
            Action::Close => end.link.close(),
        }
        self.drain();
    }

    fn drain(&mut self) {
        for index in 0..2 {
            if let Some((end, other)) = pair(&mut self.endpoints, index) {
                end.drain(self.now, other, self.has_foreign_input[index]);
            }
        }
    }

    /// Delivers and answers all messages, lets all timeouts pass, and closes both connections.
    fn finish(&mut self) {
        loop {
            let mut is_quiet = true;
            for index in 0..2 {
                while let Some((end, other)) = pair(&mut self.endpoints, index)
                    && let Some(frame) = other.sent.pop_front()
                {
                    is_quiet = false;
                    end.receive(frame.as_bytes());
                    end.drain(self.now, other, self.has_foreign_input[index]);
                }
                while let Some((end, _)) = pair(&mut self.endpoints, index)
                    && !end.requests.is_empty()
                {
                    is_quiet = false;
                    respond(end, 0, Outcome::Result("0".to_owned()));
                    self.drain();
                }
            }
            if is_quiet {
                break;
            }
        }
        let is_open = self.endpoints.iter().all(|end| !end.link.is_closed() && !end.input_ended);
        let is_honest = self.has_foreign_input == [false; 2] && !self.is_lossy;
        let all_are_attributed = self.endpoints.iter().all(|end| !end.has_replied_to_null());
        for end in &self.endpoints {
            if !end.link.is_closed() {
                end.check_all_answered();
            }
            if is_open && is_honest && all_are_attributed {
                assert!(!end.calls.values().any(|call| call.is_sent), "a call has not ended");
            }
        }
        self.run_timers();
        for end in &mut self.endpoints {
            end.link.close();
        }
        self.drain();
        for end in &mut self.endpoints {
            end.link.close();
            assert!(end.calls.is_empty(), "a call has not ended");
            assert!(end.link.pending_calls() == 0 && end.link.poll_timeout().is_none() && !end.link.has_output());
        }
    }

    /// Reads the clock only when a connection requests it. Each call with a timeout must end.
    fn run_timers(&mut self) {
        for _ in 0..60 {
            let next = self.endpoints.iter().filter_map(|end| end.link.poll_timeout()).min();
            let Some(next) = next.filter(|next| *next < u64::MAX) else { break };
            self.now = next;
            self.drain();
        }
        // With a `time_grain`, long timeouts need more clock readings than the loop makes.
        self.now = self.now.saturating_add(4_000_000);
        self.drain();
        for end in &self.endpoints {
            let finite = |timeout: Option<u64>| timeout.is_some_and(|timeout| timeout < u64::MAX);
            assert!(!end.calls.values().any(|call| finite(call.timeout)), "a call has not timed out");
        }
    }
}

/// Returns the connection at this index, and its peer.
fn pair(endpoints: &mut [Endpoint; 2], index: usize) -> Option<(&mut Endpoint, &mut Endpoint)> {
    let [first, second] = endpoints;
    Some(if index == 0 { (first, second) } else { (second, first) })
}

fn config(bits: u8) -> Config {
    let profile = [Profile::GENERIC, Profile::MESSAGE_BOUNDARY, Profile::DAEMON, Profile::KAIAK][usize::from(bits & 3)];
    let mut limits = Limits::DEFAULT;
    if bits & 4 != 0 {
        (limits.pending_calls, limits.in_flight, limits.batch_items, limits.depth) = (6, 3, 2, 5);
    }
    if bits & 8 != 0 {
        (limits.message_bytes, limits.id_length, limits.in_flight_bytes) = (120, 4, 60);
    }
    Config::new(profile).with_limits(limits).with_time_grain([0, 16, 3, 1000][usize::from(bits >> 4 & 3)])
}

fn check_refusal(refused: Refused, was_closed: bool, has_room: bool) {
    assert_eq!(refused, if was_closed { Refused::Closed } else { Refused::TooManyCalls });
    assert!(was_closed || !has_room, "a call is refused below the limit of pending calls");
}

fn end_call(end: &mut Endpoint, choice: u8, how: impl FnOnce(&mut Endpoint, portway::connection::CallKey) -> bool) {
    if let Some((key, waits)) = end.pick_call(choice) {
        assert_eq!(how(end, key), waits, "true must be returned for pending calls only");
        if waits {
            end.call_ended(key);
        }
    }
}

fn respond(end: &mut Endpoint, choice: u8, outcome: Outcome) {
    let Some(index) = usize::from(choice).checked_rem(end.requests.len()) else { return };
    let key = end.requests.swap_remove(index);
    let outcome = match outcome {
        Outcome::Result(text) => payload(text).ok_or_else(|| error(-32603, "no JSON", None)),
        Outcome::Error { code, message, data } => Err(error(code, &message, data.and_then(payload))),
    };
    end.respond(key, outcome);
}
