//! Two connections that exchange messages on virtual time, and a third party that sends any bytes to these connections.

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
        // Without bytes, `arbitrary` would return zeroes without end, so the loop ends.
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

    /// Executes one operation on one connection, and drains both connections.
    fn step(&mut self, Operation { index, action }: Operation) {
        let Some((endpoint, peer)) = pair(&mut self.endpoints, index) else { return };
        let was_closed = endpoint.connection.is_closed();
        let cannot_call = was_closed || endpoint.input_ended;
        match action {
            Action::Call { method, params, timeout } => {
                let has_room = has_room_for_call(endpoint);
                match endpoint.connection.call(method.into(), params.and_then(payload), timeout) {
                    Ok(key) => endpoint.record_call(key, timeout, true),
                    Err(refused) => check_refusal(refused, cannot_call, has_room),
                }
            }
            Action::Begin { timeout } => {
                let has_room = has_room_for_call(endpoint);
                match endpoint.connection.begin_call(timeout, None) {
                    Ok(key) => endpoint.record_call(key, timeout, false),
                    Err(refused) => check_refusal(refused, cannot_call, has_room),
                }
            }
            Action::Batch { are_calls, timeout } => {
                endpoint.batches += 1;
                let batch = NonZeroU32::new(endpoint.batches);
                let mut messages = Vec::new();
                for is_call in are_calls {
                    if !is_call {
                        messages.push(Message::Notification(Notification { method: "n".into(), params: None }));
                        continue;
                    }
                    let has_room = has_room_for_call(endpoint);
                    match endpoint.connection.begin_call(timeout, batch) {
                        Ok(key) => {
                            endpoint.record_call(key, timeout, true);
                            let id = RequestId::from_call(key.id());
                            messages.push(Message::Request(Request { id, method: "c".into(), params: None }));
                        }
                        Err(refused) => check_refusal(refused, cannot_call, has_room),
                    }
                }
                // Like a driver, this code writes the requests after `begin_call`.
                if !messages.is_empty() && !was_closed {
                    endpoint.transmit(Outgoing::Batch(messages));
                }
            }
            Action::Notify { method, params } => {
                let sent = endpoint.connection.notify(method.into(), params.and_then(payload));
                assert_eq!(sent, if was_closed { Err(Refused::Closed) } else { Ok(()) });
            }
            Action::Cancel { call } => end_call(endpoint, call, |endpoint, key| endpoint.connection.cancel(key)),
            Action::Abandon { call } => end_call(endpoint, call, |endpoint, key| endpoint.connection.abandon(key)),
            Action::Restart { call, timeout } => {
                if let Some((key, is_pending)) = endpoint.pick_call(call) {
                    assert_eq!(endpoint.connection.restart(key, timeout), is_pending);
                    if let Some(call) = endpoint.calls.get_mut(&key.id()) {
                        (call.timeout, call.since) = (timeout, None);
                    }
                }
            }
            Action::Respond { request, outcome } => respond(endpoint, request, outcome),
            Action::Deliver { frames } => {
                for _ in 0..=frames {
                    let Some(frame) = peer.sent.pop_front() else { break };
                    endpoint.receive(frame.as_bytes());
                    endpoint.drain(self.now, peer, self.has_foreign_input[index]);
                }
            }
            Action::Lose => self.is_lossy |= endpoint.sent.pop_front().is_some(),
            Action::Repeat => {
                if let Some(frame) = endpoint.sent.front().cloned() {
                    endpoint.sent.push_front(frame);
                }
            }
            Action::Hostile { text } => {
                self.has_foreign_input[index] = true;
                endpoint.receive(&text);
            }
            Action::Wait { milliseconds } => self.now += milliseconds,
            Action::EndInput => {
                endpoint.input_ended = true;
                endpoint.connection.handle_end();
            }
            Action::Close => endpoint.connection.close(),
        }
        self.drain();
    }

    fn drain(&mut self) {
        for index in 0..2 {
            if let Some((endpoint, peer)) = pair(&mut self.endpoints, index) {
                endpoint.drain(self.now, peer, self.has_foreign_input[index]);
            }
        }
    }

    /// Delivers all frames, answers all requests, lets all timeouts pass, and closes both connections.
    fn finish(&mut self) {
        loop {
            let mut is_quiet = true;
            for index in 0..2 {
                while let Some((endpoint, peer)) = pair(&mut self.endpoints, index)
                    && let Some(frame) = peer.sent.pop_front()
                {
                    is_quiet = false;
                    endpoint.receive(frame.as_bytes());
                    endpoint.drain(self.now, peer, self.has_foreign_input[index]);
                }
                while let Some((endpoint, _)) = pair(&mut self.endpoints, index)
                    && !endpoint.requests.is_empty()
                {
                    is_quiet = false;
                    respond(endpoint, 0, Outcome::Result("0".to_owned()));
                    self.drain();
                }
            }
            if is_quiet {
                break;
            }
        }
        let is_open = self.endpoints.iter().all(|endpoint| !endpoint.connection.is_closed() && !endpoint.input_ended);
        // Each sent call must have ended if no frame was added or lost and each reply has the id of its request.
        let is_honest = self.has_foreign_input == [false; 2] && !self.is_lossy;
        let every_reply_has_an_id = self.endpoints.iter().all(|endpoint| !endpoint.has_replied_to_null());
        for endpoint in &self.endpoints {
            if !endpoint.connection.is_closed() {
                endpoint.check_all_answered();
            }
            if is_open && is_honest && every_reply_has_an_id {
                assert!(!endpoint.calls.values().any(|call| call.is_sent), "a call has not ended");
            }
        }
        self.run_timers();
        for endpoint in &mut self.endpoints {
            endpoint.connection.close();
        }
        self.drain();
        for endpoint in &mut self.endpoints {
            // A second close must have no effect.
            endpoint.connection.close();
            assert!(endpoint.calls.is_empty(), "a call has not ended");
            assert!(
                endpoint.connection.pending_calls() == 0
                    && endpoint.connection.poll_timeout().is_none()
                    && !endpoint.connection.has_output()
            );
        }
    }

    /// Advances the time only to the times that the connections request. Each call with a timeout must end.
    fn run_timers(&mut self) {
        for _ in 0..60 {
            let next = self.endpoints.iter().filter_map(|endpoint| endpoint.connection.poll_timeout()).min();
            let Some(next) = next.filter(|next| *next < u64::MAX) else { break };
            self.now = next;
            self.drain();
        }
        // With a `time_grain`, the loop may end before a long timeout has passed. The time below is later than every
        // timeout.
        self.now = self.now.saturating_add(4_000_000);
        self.drain();
        for endpoint in &self.endpoints {
            let finite = |timeout: Option<u64>| timeout.is_some_and(|timeout| timeout < u64::MAX);
            assert!(!endpoint.calls.values().any(|call| finite(call.timeout)), "a call has not timed out");
        }
    }
}

/// Returns the connection at this index, and its peer.
fn pair(endpoints: &mut [Endpoint; 2], index: usize) -> Option<(&mut Endpoint, &mut Endpoint)> {
    let [first, second] = endpoints;
    Some(if index == 0 { (first, second) } else { (second, first) })
}

/// Returns a configuration. The bits select the profile, whether limits are reduced, and the time grain.
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

/// Returns whether the limit of pending calls allows one more call.
fn has_room_for_call(endpoint: &Endpoint) -> bool {
    endpoint.connection.pending_calls() < endpoint.connection.config().limits.pending_calls
}

fn check_refusal(refused: Refused, cannot_call: bool, has_room: bool) {
    assert_eq!(refused, if cannot_call { Refused::Closed } else { Refused::TooManyCalls });
    assert!(cannot_call || !has_room, "a call is refused below the limit of pending calls");
}

/// Ends a call by `end`, which returns whether the call was pending.
fn end_call(
    endpoint: &mut Endpoint,
    choice: u8,
    end: impl FnOnce(&mut Endpoint, portway::connection::CallKey) -> bool,
) {
    if let Some((key, is_pending)) = endpoint.pick_call(choice) {
        assert_eq!(end(endpoint, key), is_pending, "the method must return true only for pending calls");
        if is_pending {
            endpoint.record_end(key);
        }
    }
}

/// Answers the reported request that `choice` selects.
fn respond(endpoint: &mut Endpoint, choice: u8, outcome: Outcome) {
    let Some(index) = usize::from(choice).checked_rem(endpoint.requests.len()) else { return };
    let key = endpoint.requests.swap_remove(index);
    let outcome = match outcome {
        Outcome::Result(text) => payload(text).ok_or_else(|| error(-32603, "no JSON", None)),
        Outcome::Error { code, message, data } => Err(error(code, &message, data.and_then(payload))),
    };
    endpoint.respond(key, outcome);
}
