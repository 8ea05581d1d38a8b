//! What the handles of a link and its driver share: the connection, behind one lock.
//!
//! The lock is held for moments only, and never while code of a user runs: handlers, wakers and drops of payloads come
//! after it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem;
use std::string::ToString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;
use std::vec::Vec;

use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Text;
use super::diagnostic::Listener;
use super::driver::Driver;
use super::error::{CallError, Closed};
use super::frames::WipcSettings;
use super::handlers::Handlers;
use super::running::{Lifetime, RunningNotifications, RunningRequests};
use super::state::{
    CallListener, ENDED_CALL_BYTES, KEPT_CAPACITY, Outcome, Output, Stage, State, WaitingCall, longest_message,
};
use super::waiters::Place;
use crate::Limits;
use crate::codec::framing::Framing;
use crate::codec::wipc::{self, FrameType};
use crate::connection::{CallKey, Config, Connection, Event};
use crate::message::{Id, RequestId};
use crate::profile::{Ordering, Profile};
use crate::text::length;

#[derive(Debug)]
pub(super) struct Link {
    state: Mutex<State>,
    /// What will drive the link, until it is started.
    idle: Mutex<Option<Driver>>,
    /// Where it is driven.
    pub(super) runtime: Handle,
    pub(super) handlers: Handlers,
    pub(super) running: RunningRequests,
    pub(super) running_notifications: RunningNotifications,
    /// Of the link itself, which is that of notifications, too.
    pub(super) lifetime: Arc<Lifetime>,
    pub(super) listener: Listener,
    pub(super) wipc: WipcSettings,
    pub(super) framing: Framing,
    pub(super) profile: Profile,
    pub(super) limits: Limits,
    /// How long the end of the link waits for what still runs, and for the other side to take what is written.
    pub(super) grace: Duration,
    /// What times are counted from.
    start: Instant,
}

/// What an application says of a link before it begins.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) profile: Profile,
    pub(super) limits: Limits,
    pub(super) grace: Duration,
    pub(super) listener: Listener,
    pub(super) wipc: WipcSettings,
}

/// What the driver finds when it looks at what others have left for it.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) events: VecDeque<Event<Text>>,
    pub(super) stage: Stage,
    pub(super) timeout: Option<u64>,
}

impl Link {
    pub(super) fn new(runtime: Handle, framing: Framing, settings: Settings) -> Self {
        let Settings { profile, limits, grace, listener, wipc } = settings;
        let connection = Connection::new(Config::new(profile).with_limits(limits));
        Self {
            state: Mutex::new(State::new(connection)),
            idle: Mutex::new(None),
            runtime,
            handlers: Handlers::default(),
            running: RunningRequests::default(),
            running_notifications: RunningNotifications::default(),
            lifetime: Arc::default(),
            listener,
            wipc,
            framing,
            profile,
            limits,
            grace,
            start: Instant::now(),
        }
    }

    /// Milliseconds since the start of the link.
    pub(super) fn now(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }

    /// For what begins now: so that nothing ends before its time.
    pub(super) fn now_rounded_up(&self) -> u64 {
        self.start.elapsed().as_micros().div_ceil(1_000) as u64
    }

    pub(super) fn instant(&self, milliseconds: u64) -> Instant {
        self.start + Duration::from_millis(milliseconds)
    }

    // The start.

    /// Keeps the driver until the link is started.
    pub(super) fn set_idle(&self, driver: Driver) {
        *self.idle.lock().unwrap_or_else(PoisonError::into_inner) = Some(driver);
    }

    /// Has a task drive the link, unless somebody drives it already.
    pub(super) fn start(&self) {
        if let Some(driver) = self.take_idle() {
            self.runtime.spawn(driver);
        }
    }

    /// The driver, if the link was not started yet.
    pub(super) fn take_idle(&self) -> Option<Driver> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// How long a message of ours may be, in bytes. Over WIPC, both peers have the same limit.
    pub(super) fn longest_message(&self) -> usize {
        longest_message(self.framing, &self.limits)
    }

    /// # Errors
    /// If the notification would be too long.
    fn check_notification(&self, method: &str, params: Option<&RawValue>) -> Result<(), CallError> {
        length::check_call(None, method, params, self.longest_message()).map_err(CallError::Params)
    }

    // Calls.

    /// Sends a request. The receiver gets how it ends.
    pub(super) fn call(
        &self,
        method: &str,
        params: Option<Text>,
        timeout: Option<u64>,
        mut listener: Option<CallListener>,
    ) -> Result<(CallKey, oneshot::Receiver<Outcome>), CallError> {
        self.start();
        let now = self.now_rounded_up();
        let (reply, receiver) = oneshot::channel();
        // The listener of a call that is refused is dropped after the lock: it may own the last client of this link.
        self.act(|state| {
            state.may_send()?;
            let id = state.connection.next_call_id();
            let fits = length::check_call(Some(id), method, params.as_deref(), self.longest_message());
            fits.map_err(CallError::Params)?;
            if state.is_congested_by_ended() {
                return Err(CallError::Congested);
            }
            let bytes = ENDED_CALL_BYTES + method.len() + params.as_ref().map_or(0, |params| params.get().len());
            let key = match state.connection.call(method.into(), params, timeout) {
                Ok(key) => key,
                Err(refused) => return Err(state.refusal(refused)),
            };
            let end_offset = state.encode(self.framing);
            let slot = key.slot() as usize;
            if state.calls.len() <= slot {
                state.calls.resize_with(slot + 1, || None);
            }
            if let Some(place) = state.calls.get_mut(slot) {
                *place = Some(WaitingCall { id: key.id(), bytes, end_offset, reply, listener: listener.take() });
            }
            if timeout.is_some() {
                // The clock of the call starts here.
                state.connection.start_clock(now);
            }
            Ok((key, receiver))
        })
    }

    /// The result of a call is no longer wanted; if it waits, the other side is told.
    pub(super) fn give_up(&self, key: CallKey) {
        let dropped = self.act(|state| {
            let call = if state.connection.cancel(key) { state.take_call(key) } else { None };
            call.inspect(|call| state.count_ended(call))
        });
        drop(dropped);
    }

    /// # Errors
    /// If the link is closed, or the other side does not read.
    pub(super) fn notify(&self, method: &str, params: Option<Text>) -> Result<(), CallError> {
        self.check_notification(method, params.as_deref())?;
        self.start();
        self.act(|state| {
            state.may_send()?;
            if state.backlog() > self.limits.unwritten_bytes {
                return Err(CallError::Congested);
            }
            let sent = state.connection.notify(method.into(), params);
            sent.map_err(|refused| state.refusal(refused))
        })
    }

    /// Sends a frame of WIPC that is no message of ours.
    pub(super) fn send_frame(&self, frame_type: FrameType, payload: &[u8]) -> Result<(), CallError> {
        if self.framing != Framing::Wipc {
            return Err(CallError::NoFrames(self.framing));
        }
        self.start();
        self.act(|state| {
            state.may_send()?;
            if state.stage != Stage::Open {
                return Err(state.end_of_calls());
            }
            if state.backlog() > self.limits.unwritten_bytes {
                return Err(CallError::Congested);
            }
            let sent = wipc::encode(frame_type, payload, &mut state.unwritten);
            sent.map_err(|problem| CallError::Params(problem.to_string()))?;
            if frame_type == FrameType::Close {
                state.output = Output::Ended;
            }
            Ok(())
        })
    }

    /// As `notify`, whether the other side reads or not: for what it has asked for, and counts.
    pub(super) fn notify_always(&self, method: &str, params: Option<Text>) -> Result<(), CallError> {
        self.check_notification(method, params.as_deref())?;
        self.act(|state| {
            let sent = state.connection.notify(method.into(), params);
            sent.map_err(|refused| state.refusal(refused))
        })
    }

    pub(super) fn pending_calls(&self) -> usize {
        self.lock().connection.pending_calls()
    }

    /// The listener of the pending call with this id, if its request is written.
    pub(super) fn call_listener(&self, id: u64) -> Option<(CallKey, CallListener)> {
        let state = self.lock();
        let (key, call) = state.sent_call(id)?;
        Some((key, call.listener.clone()?))
    }

    /// Whether a pending call has this id, and its request is written.
    pub(super) fn is_waiting_for(&self, id: &Id) -> bool {
        id.to_call().is_some_and(|id| self.lock().sent_call(id).is_some())
    }

    /// Has a call wait anew for so many milliseconds; `None` for as long as it takes.
    pub(super) fn restart(&self, key: CallKey, timeout: Option<u64>) {
        let now = self.now_rounded_up();
        self.act(|state| {
            state.connection.restart(key, timeout);
            state.connection.start_clock(now);
        });
    }

    // The life of the link.

    /// Ends the link from this side. Doing it twice is harmless.
    pub(super) fn destroy(&self) {
        self.act(|state| {
            if matches!(state.stage, Stage::Open | Stage::Stopping) {
                state.stage = Stage::Destroyed;
                state.lost.get_or_insert(CallError::Destroyed);
                state.connection.close();
            }
        });
        drop(self.take_idle());
        self.let_go();
    }

    /// Reads nothing more, and finishes what runs.
    pub(super) fn stop(&self) {
        self.act(|state| {
            if state.stage == Stage::Open {
                state.stage = Stage::Stopping;
            }
        });
    }

    /// The driver has ended, for this reason.
    pub(super) fn close(&self, closed: Closed) {
        self.act(|state| {
            state.lost.get_or_insert_with(|| CallError::from_end(&closed));
            state.stage = Stage::Closed(closed);
            state.connection.close();
            state.drop_unwritten();
            state.being_written = 0;
            state.answers_being_written = 0;
        });
        self.let_go();
    }

    /// Drops handlers and their work.
    fn let_go(&self) {
        self.lifetime.end();
        self.handlers.clear();
        self.running.abort_all();
        self.running_notifications.abort_all();
    }

    /// No more answers can come, for this reason; what the other side has asked is still answered.
    pub(super) fn end_input(&self, why: &Closed) {
        self.act(|state| {
            state.lost.get_or_insert_with(|| CallError::from_end(why));
            state.connection.handle_end();
        });
        self.running.end_credit();
    }

    /// The other side takes nothing more, but may still have something to say.
    pub(super) fn end_output(&self, why: &Closed) {
        self.act(|state| {
            state.lost.get_or_insert_with(|| CallError::from_end(why));
            state.output = Output::Dropped;
        });
    }

    pub(super) async fn closed(&self) -> Closed {
        self.observe(|state| if let Stage::Closed(closed) = &state.stage { Some(closed.clone()) } else { None }).await
    }

    /// Ends when there is room for notifications, or the link has ended.
    pub(super) async fn ready(&self) {
        let most = self.limits.unwritten_bytes;
        self.observe(|state| (state.backlog() <= most || state.stage != Stage::Open).then_some(())).await;
    }

    /// Waits until `look` returns a value. Runs `look` again when the buffer is written or the stage changes.
    async fn observe<T>(&self, look: impl Fn(&State) -> Option<T>) -> T {
        let mut observer = Observer { link: self, place: Place::default() };
        poll_fn(|context| {
            let mut state = self.lock();
            if let Some(found) = look(&state) {
                return Poll::Ready(found);
            }
            let replaced = state.observers.wait(&mut observer.place, context.waker());
            drop(state);
            drop(replaced);
            Poll::Pending
        })
        .await
    }

    pub(super) fn stage(&self) -> Stage {
        self.lock().stage.clone()
    }

    // The driver.

    /// What has been left for the driver.
    pub(super) fn take_work(&self) -> Work {
        let mut state = self.lock();
        state.driver = None;
        state.is_due = false;
        Work {
            events: mem::take(&mut state.events),
            stage: state.stage.clone(),
            timeout: state.connection.poll_timeout(),
        }
    }

    /// Puts the driver to sleep, unless there is something for it to do.
    pub(super) fn sleep(&self, context: &TaskContext<'_>) -> bool {
        let mut state = self.lock();
        if state.is_due {
            return false;
        }
        state.driver = Some(context.waker().clone());
        true
    }

    /// Records how many bytes of the current buffer are written, if not all.
    pub(super) fn set_written(&self, count: usize) {
        self.lock().set_written(count);
    }

    /// Exchanges what the driver has written for what it is to write next.
    pub(super) fn take_unwritten(&self, written: &mut Vec<u8>) {
        written.clear();
        if written.capacity() > KEPT_CAPACITY {
            *written = Vec::new();
        }
        let observers = {
            let mut state = self.lock();
            state.take_unwritten(written);
            state.observers.take()
        };
        observers.into_iter().for_each(Waker::wake);
    }

    /// Whether the other side is still to be told that this is the end.
    pub(super) fn owes_goodbye(&self) -> bool {
        self.framing == Framing::Wipc && self.lock().output == Output::Open
    }

    /// Whether no notification handler runs and no request is queued. A stopped link starts no queued request.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.lock();
        let waits = !state.events.is_empty() || state.connection.unanswered_requests() > 0;
        (state.stage != Stage::Open || !waits) && self.running_notifications.is_empty()
    }

    /// How many bytes wait to be written.
    pub(super) fn backlog(&self) -> usize {
        self.lock().backlog()
    }

    /// Whether there is room for what follows from the next message. Replies that the other side does not take, or requests
    /// that wait for the one that runs, are not heaped up.
    ///
    /// Calls of ours do not count: both ends would wait for the other one to read, if one side calls so much at once that the
    /// answers to it are more than the other side may leave unread.
    pub(super) fn has_room(&self) -> bool {
        let state = self.lock();
        let waits_for_its_turn = self.profile.ordering == Ordering::Sequential
            && (state.connection.unanswered_requests() >= self.limits.in_flight
                || state.connection.bytes_at_work() >= self.limits.in_flight_bytes);
        state.backlog_of_answers() <= self.limits.unwritten_bytes && !waits_for_its_turn
    }

    /// Has the driver look whether there is something left to do.
    pub(super) fn wake(&self) {
        let driver = self.lock().wake();
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    /// Gives the connection an input and does what follows from it.
    pub(super) fn input<T>(&self, input: impl FnOnce(&mut Connection<Text>) -> T) -> T {
        self.act(|state| input(&mut state.connection))
    }

    /// Like `input`, with access to the whole state.
    pub(super) fn act<T>(&self, input: impl FnOnce(&mut State) -> T) -> T {
        let mut ended = Vec::new();
        let (given, driver, observers) = {
            let mut state = self.lock();
            let before = state.connection.poll_timeout();
            let stage = mem::discriminant(&state.stage);
            let given = input(&mut state);
            state.drain(self.framing, &mut ended);
            let is_changed = mem::discriminant(&state.stage) != stage;
            let is_sooner =
                state.connection.poll_timeout().is_some_and(|next| before.is_none_or(|before| next < before));
            let wakes = is_changed || is_sooner || !state.events.is_empty() || !state.unwritten.is_empty();
            let driver = if wakes { state.wake() } else { None };
            let observers = if is_changed { state.observers.take() } else { Vec::new() };
            (given, driver, observers)
        };
        for (call, outcome) in ended {
            // Who has dropped the receiver does not want to know.
            let _ = call.reply.send(outcome);
        }
        driver.into_iter().chain(observers).for_each(Waker::wake);
        given
    }

    /// A panic of somebody else while the lock was held is no reason to leave calls waiting.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A future that waits for a change of a link.
struct Observer<'a> {
    link: &'a Link,
    place: Place,
}

impl Drop for Observer<'_> {
    fn drop(&mut self) {
        if self.place.is_taken() {
            let left = self.link.lock().observers.leave(&self.place);
            drop(left);
        }
    }
}
