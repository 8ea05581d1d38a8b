//! The state that the handles of a link and its driver share. The lock of `state` protects the connection, the pending
//! calls and the unwritten output.
//!
//! The lock is never held while code of the application runs. Handlers, wakers and drops of payloads run after the lock
//! is released.

use std::future::poll_fn;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Text;
use super::diagnostic::DiagnosticSink;
use super::driver::Driver;
use super::handlers::Handlers;
use super::identity::Identity;
use super::in_flight::{CancelToken, InFlightNotifications};
use super::mcp_dialect;
use super::settings::Settings;
use super::state::{
    CallObserver, CallResult, ENDED_CALL_BYTES, LinkState, PendingCall, State, WriteState, max_message_bytes,
};
use super::tap::LinkTap;
use super::waker_set::WakerKey;
use super::wipc_options::WipcOptions;
use crate::Framing;
use crate::Limits;
use crate::codec::wipc::FrameType;
use crate::connection::{CallKey, Config, Connection};
use crate::error::{CallError, Closed};
use crate::message::{Id, RequestId};
use crate::message_length;
use crate::profile::Profile;

#[derive(Debug)]
pub(super) struct Link {
    state: Mutex<State>,
    /// The driver of a link that is not started yet.
    unstarted: Mutex<Option<Driver>>,
    /// Whether `unstarted` may contain the driver.
    is_unstarted: AtomicBool,
    /// The runtime of the driver.
    pub(super) runtime: Handle,
    pub(super) handlers: Handlers,
    pub(super) in_flight_notifications: InFlightNotifications,
    /// The token that is cancelled when the link closes. Contexts of notifications use it.
    pub(super) cancel_token: Arc<CancelToken>,
    pub(super) diagnostics: DiagnosticSink,
    pub(super) wipc: WipcOptions,
    /// The identity of the peer, see [`Transport::with_identity`](super::transport::Transport::with_identity).
    pub(super) identity: Option<Identity>,
    /// `None` for a transport of whole messages.
    pub(super) framing: Option<Framing>,
    pub(super) profile: Profile,
    pub(super) limits: Limits,
    /// Records the end of the link.
    tap: Option<LinkTap>,
    /// Maximum time at the end of the link, for running handlers and for unwritten output.
    pub(super) grace: Duration,
    /// The time at which the clock of the connection is 0.
    start: Instant,
}

impl Link {
    pub(super) fn new(runtime: Handle, framing: Option<Framing>, settings: Settings, tap: Option<LinkTap>) -> Self {
        let Settings { profile, limits, grace, diagnostics, wipc, identity, .. } = settings;
        let connection = Connection::new(Config::new(profile).with_limits(limits));
        Self {
            state: Mutex::new(State::new(connection, framing)),
            unstarted: Mutex::new(None),
            is_unstarted: AtomicBool::new(false),
            runtime,
            handlers: Handlers::default(),
            in_flight_notifications: InFlightNotifications::default(),
            cancel_token: Arc::default(),
            diagnostics,
            wipc,
            identity,
            framing,
            profile,
            limits,
            tap,
            grace,
            start: Instant::now(),
        }
    }

    /// Returns the milliseconds since the start of the link.
    pub(super) fn now(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }

    /// Returns the milliseconds since the start of the link, rounded up. A timeout that starts at the returned time
    /// never ends too soon.
    pub(super) fn now_rounded_up(&self) -> u64 {
        self.start.elapsed().as_micros().div_ceil(1_000) as u64
    }

    /// Returns the time that is this many milliseconds after the start of the link.
    pub(super) fn instant(&self, milliseconds: u64) -> Instant {
        self.start + Duration::from_millis(milliseconds)
    }

    // Start.

    /// Stores the driver until the link is started.
    pub(super) fn set_unstarted(&self, driver: Driver) {
        *self.unstarted.lock().unwrap_or_else(PoisonError::into_inner) = Some(driver);
        self.is_unstarted.store(true, Ordering::Release);
    }

    /// Spawns the driver as a task, if the link was not started before.
    pub(super) fn start(&self) {
        if let Some(driver) = self.take_unstarted() {
            self.runtime.spawn(driver);
        }
    }

    /// Takes the driver, if the link was not started yet.
    pub(super) fn take_unstarted(&self) -> Option<Driver> {
        // Most links are started, so the lock is rarely needed.
        if !self.is_unstarted.load(Ordering::Acquire) {
            return None;
        }
        let driver = self.unstarted.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.is_unstarted.store(false, Ordering::Release);
        driver
    }

    /// Returns whether the framing is WIPC.
    pub(super) fn is_wipc(&self) -> bool {
        self.framing == Some(Framing::Wipc)
    }

    /// Returns the maximum length of an outgoing message, in bytes, or `usize::MAX` for no maximum. Only WIPC has a
    /// maximum. This maximum is the limit for incoming messages, because both peers must use the same limit.
    pub(super) fn max_message_bytes(&self) -> usize {
        max_message_bytes(self.framing, &self.limits)
    }

    /// Returns an error if the notification would be longer than [`Self::max_message_bytes`], or is not allowed in MCP.
    fn check_notification(&self, method: &str, params: Option<&RawValue>) -> Result<(), CallError> {
        if self.profile.is_mcp() {
            mcp_dialect::check_call(method, params)?;
        }
        message_length::check_call(None, method, params, self.max_message_bytes()).map_err(CallError::Params)
    }

    // Calls.

    /// Sends a request. The returned receiver resolves to the result of the call.
    pub(super) fn call(
        &self,
        method: &str,
        params: Option<Text>,
        timeout: Option<u64>,
        mut observer: Option<CallObserver>,
    ) -> Result<(CallKey, oneshot::Receiver<CallResult>), CallError> {
        if self.profile.is_mcp() {
            mcp_dialect::check_call(method, params.as_deref())?;
        }
        self.start();
        let now = self.now_rounded_up();
        let (reply, receiver) = oneshot::channel();
        // The observer of a refused call is dropped after the lock is released, because the observer may own the last
        // client of this link.
        self.with_state(|state| {
            state.check_open()?;
            let id = state.connection.next_call_id();
            let params = if observer.is_some() && self.profile.is_mcp() {
                Some(mcp_dialect::with_progress_token(params.as_deref(), &id)?)
            } else {
                params
            };
            let fits = message_length::check_call(Some(id), method, params.as_deref(), self.max_message_bytes());
            fits.map_err(CallError::Params)?;
            if state.is_congested_by_ended() {
                return Err(CallError::Congested);
            }
            let bytes = ENDED_CALL_BYTES + method.len() + params.as_ref().map_or(0, |params| params.get().len());
            let sent = state.connection.call(method.into(), params, timeout);
            let key = sent.map_err(|refused| state.call_refused_error(refused))?;
            let end_offset = state.encode();
            let call = PendingCall { id: key.id(), bytes, end_offset, reply, observer: observer.take() };
            state.insert_call(key, method, call);
            if timeout.is_some() {
                // The timeout of the call starts at the time `now`.
                state.connection.start_clock(now);
            }
            Ok((key, receiver))
        })
    }

    /// Cancels a call. If the call is pending, notifies the peer and returns the call. Otherwise, returns `None`.
    pub(super) fn cancel_call(&self, key: CallKey) -> Option<PendingCall> {
        self.with_state(|state| state.cancel_call(key))
    }

    /// Sends a notification. Fails if the link is closed, the notification is too long, or the peer does not read.
    pub(super) fn notify(&self, method: &str, params: Option<&RawValue>) -> Result<(), CallError> {
        self.check_notification(method, params)?;
        self.start();
        self.with_output(|state| {
            state.check_open()?;
            if state.backlog() > self.limits.unwritten_bytes {
                return Err(CallError::Congested);
            }
            state.notify(method, params)
        })
    }

    /// Sends a WIPC frame that is not a message.
    pub(super) fn send_frame(&self, frame_type: FrameType, payload: &[u8]) -> Result<(), CallError> {
        if !self.is_wipc() {
            return Err(CallError::NoFrames(self.framing));
        }
        self.start();
        self.with_state(|state| {
            state.check_open()?;
            if state.link_state != LinkState::Open {
                return Err(state.closed_error());
            }
            if state.backlog() > self.limits.unwritten_bytes {
                return Err(CallError::Congested);
            }
            let sent = state.unwritten.push_frame(frame_type, payload);
            sent.map_err(|problem| CallError::Params(problem.to_string()))?;
            if frame_type == FrameType::Close {
                state.write_state = WriteState::CloseSent;
            }
            Ok(())
        })
    }

    /// Sends a notification, even if the peer does not read. Only stream items and credit are sent in this way. The
    /// credit of the caller limits the items, and the number of received items limits the credit.
    pub(super) fn notify_unbounded(&self, method: &str, params: Option<Text>) -> Result<(), CallError> {
        self.check_notification(method, params.as_deref())?;
        self.with_output(|state| state.notify(method, params.as_deref()))
    }

    pub(super) fn pending_calls(&self) -> usize {
        self.lock().connection.pending_calls()
    }

    /// Returns the observer of the pending call with this id. Returns `None` if the call has no observer, or while its
    /// request is unwritten.
    pub(super) fn call_observer(&self, id: u64) -> Option<(CallKey, CallObserver)> {
        let state = self.lock();
        let (key, call) = state.sent_call(id)?;
        Some((key, call.observer.clone()?))
    }

    /// Returns whether a pending call has this id, and the request of the call is written.
    pub(super) fn is_pending_call(&self, id: &Id) -> bool {
        id.to_call().is_some_and(|id| self.lock().sent_call(id).is_some())
    }

    /// Restarts the timeout of a call, in milliseconds. `None` disables the timeout.
    pub(super) fn reset_timeout(&self, key: CallKey, timeout: Option<u64>) {
        let now = self.now_rounded_up();
        self.with_state(|state| {
            state.connection.restart(key, timeout);
            state.connection.start_clock(now);
        });
    }

    // End.

    /// Closes the link. A repeated call has no effect.
    pub(super) fn destroy(&self) {
        self.with_state(|state| {
            if matches!(state.link_state, LinkState::Open | LinkState::Stopping) {
                state.link_state = LinkState::Destroyed;
                state.end_error.get_or_insert(CallError::Destroyed);
                state.connection.close();
            }
        });
        drop(self.take_unstarted());
        self.release();
    }

    /// Stops reading. Running requests are completed.
    pub(super) fn stop(&self) {
        self.with_state(|state| {
            if state.link_state == LinkState::Open {
                state.link_state = LinkState::Stopping;
            }
        });
    }

    /// Records that the driver has ended for the reason `closed`.
    pub(super) fn close(&self, closed: Closed) {
        if let Some(tap) = &self.tap {
            tap.close(&closed);
        }
        self.with_state(|state| {
            state.end_error.get_or_insert_with(|| CallError::from_end(&closed));
            state.link_state = LinkState::Closed(closed);
            state.connection.close();
            state.drop_unwritten();
            state.being_written = 0;
            state.responses_being_written = 0;
        });
        self.release();
    }

    /// Drops all handlers and aborts their tasks.
    fn release(&self) {
        self.cancel_token.cancel();
        self.handlers.clear();
        self.in_flight_notifications.abort_all();
        let (requests, blocked) = {
            let mut state = self.lock();
            (mem::take(&mut state.in_flight), state.end_streams())
        };
        requests.abort_all();
        drop(blocked);
    }

    /// Handles the end of the input. Pending calls fail for the reason `why`. Earlier requests from the peer are still
    /// answered.
    pub(super) fn end_input(&self, why: &Closed) {
        let blocked = self.with_state(|state| {
            state.end_error.get_or_insert_with(|| CallError::from_end(why));
            state.connection.handle_end();
            state.send_streams.end();
            mem::take(&mut state.blocked_streams)
        });
        blocked.into_values().for_each(Waker::wake);
    }

    /// Handles the end of the output, after which no more messages are written. Reading continues.
    pub(super) fn end_output(&self, why: &Closed) {
        self.with_state(|state| {
            state.end_error.get_or_insert_with(|| CallError::from_end(why));
            state.write_state = WriteState::Closed;
        });
    }

    pub(super) async fn closed(&self) -> Closed {
        self.wait_for(
            |state| if let LinkState::Closed(closed) = &state.link_state { Some(closed.clone()) } else { None },
        )
        .await
    }

    /// Waits until the output has room for notifications, or the link has ended.
    pub(super) async fn ready(&self) {
        let max_bytes = self.limits.unwritten_bytes;
        self.wait_for(|state| (state.backlog() <= max_bytes || state.link_state != LinkState::Open).then_some(()))
            .await;
    }

    /// Waits until `look` returns a value. Calls `look` again after each written buffer and each change of the link
    /// state.
    async fn wait_for<T>(&self, look: impl Fn(&State) -> Option<T>) -> T {
        let mut waiter = StateWaiter { link: self, key: WakerKey::default() };
        poll_fn(|context| {
            let mut state = self.lock();
            if let Some(found) = look(&state) {
                return Poll::Ready(found);
            }
            let replaced = state.waiters.register(&mut waiter.key, context.waker());
            drop(state);
            drop(replaced);
            Poll::Pending
        })
        .await
    }

    pub(super) fn link_state(&self) -> LinkState {
        self.lock().link_state.clone()
    }

    // Input and output.

    /// Passes an input to the connection, and handles the effects of the input.
    pub(super) fn with_connection<T>(&self, input: impl FnOnce(&mut Connection<Text>) -> T) -> T {
        self.with_state(|state| input(&mut state.connection))
    }

    /// Sends a response or a notification, and wakes the driver. `send` must not end a call or change a timeout.
    pub(super) fn with_output<T>(&self, send: impl FnOnce(&mut State) -> T) -> T {
        let (returned, driver) = {
            let mut state = self.lock();
            let returned = send(&mut state);
            state.encode();
            (returned, state.wake())
        };
        if let Some(driver) = driver {
            driver.wake();
        }
        returned
    }

    /// Passes an input to the whole state, and handles the effects of the input. Resolves the calls that have ended,
    /// and wakes the driver if it has new work.
    pub(super) fn with_state<T>(&self, input: impl FnOnce(&mut State) -> T) -> T {
        let mut ended = Vec::new();
        let (returned, driver, waiters) = {
            let mut state = self.lock();
            let before = state.connection.poll_timeout();
            let (link_state, events) = (mem::discriminant(&state.link_state), state.connection.queued_events());
            let returned = input(&mut state);
            state.drain_connection(events, &mut ended);
            let is_changed = mem::discriminant(&state.link_state) != link_state;
            let is_sooner =
                state.connection.poll_timeout().is_some_and(|next| before.is_none_or(|before| next < before));
            let wakes = is_changed || is_sooner || state.connection.has_output() || state.unwritten.size() > 0;
            let driver = if wakes { state.wake() } else { None };
            let waiters = if is_changed { state.waiters.take() } else { Vec::new() };
            (returned, driver, waiters)
        };
        for (call, outcome) in ended {
            // Sending fails if the receiver was dropped. This failure is ignored.
            let _ = call.reply.send(outcome);
        }
        if let Some(driver) = driver {
            driver.wake();
        }
        waiters.into_iter().for_each(Waker::wake);
        returned
    }

    /// Locks the state. Ignores poisoning, because pending calls must end even after a panic under the lock.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The registration of a future that waits for a change of the link.
struct StateWaiter<'a> {
    link: &'a Link,
    key: WakerKey,
}

impl Drop for StateWaiter<'_> {
    fn drop(&mut self) {
        if self.key.is_registered() {
            let removed = self.link.lock().waiters.remove(&self.key);
            drop(removed);
        }
    }
}
