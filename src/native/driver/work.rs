//! The part of a link that its driver uses: the next work, the output to write, and the registration of the waker.

use core::task::{Context, Waker};

use crate::connection::Event;
use crate::native::Text;
use crate::native::link::Link;
use crate::native::outbox::Outbox;
use crate::native::state::{LinkState, RETAINED_CAPACITY, WriteState};

/// The next work of the driver.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) event: Option<Event<Text>>,
    pub(super) link_state: LinkState,
    pub(super) pause: Pause,
    /// The tasks to wake, which wait for room in the output.
    pub(super) waiters: Vec<Waker>,
}

/// The facts that the driver needs while no event is queued.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause {
    /// The next timeout of the connection, in milliseconds on the clock of the link.
    pub(super) timeout: Option<u64>,
    /// Whether the driver may read the next message, see [`Link::has_room`].
    pub(super) has_room: bool,
    /// Whether an outgoing call is pending. Its request may be in the buffer that the driver writes now.
    pub(super) has_calls: bool,
}

impl Link {
    /// Takes the next work of the driver. If no event is queued, also replaces the content of `outbox` like
    /// [`Link::take_unwritten`].
    pub(super) fn take_work(&self, outbox: Option<&mut Outbox>) -> Work {
        let mut state = self.lock();
        state.driver = None;
        state.has_new_work = false;
        let event = state.connection.poll_event();
        let waiters = match outbox.filter(|_| event.is_none()) {
            Some(outbox) => {
                outbox.clear(RETAINED_CAPACITY);
                state.take_unwritten(outbox);
                state.waiters.take()
            }
            None => Vec::new(),
        };
        let pause = Pause {
            timeout: state.connection.poll_timeout(),
            has_room: self.has_room_in(&state),
            has_calls: state.connection.pending_calls() > 0,
        };
        Work { event, link_state: state.link_state.clone(), pause, waiters }
    }

    /// Registers the waker of the driver. Returns `false`, and registers nothing, if the driver has new work.
    pub(super) fn sleep(&self, context: &Context<'_>) -> bool {
        let mut state = self.lock();
        if state.has_new_work {
            return false;
        }
        state.driver = Some(context.waker().clone());
        true
    }

    /// Records that the driver has written the first `count` bytes of its buffer.
    pub(super) fn set_written(&self, count: usize) {
        self.lock().set_written(count);
    }

    /// Replaces the content of `outbox`, which the driver has written, with the messages to write next. Wakes the tasks
    /// that wait for room in the output.
    pub(super) fn take_unwritten(&self, outbox: &mut Outbox) {
        outbox.clear(RETAINED_CAPACITY);
        let waiters = {
            let mut state = self.lock();
            state.take_unwritten(outbox);
            state.waiters.take()
        };
        waiters.into_iter().for_each(Waker::wake);
    }

    /// Returns whether a `CLOSE` frame must be sent before the output ends.
    pub(super) fn must_send_close(&self) -> bool {
        self.is_wipc() && self.lock().write_state == WriteState::Open
    }

    /// Returns whether no handler runs, every request is answered, and no event or message is queued. After the link
    /// was stopped, only running handlers count, because queued work is not started.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.lock();
        let has_queued_work = state.connection.has_output() || state.connection.unanswered_requests() > 0;
        let has_handlers = state.in_flight.len() > 0 || !self.in_flight_notifications.is_empty();
        (state.link_state != LinkState::Open || !has_queued_work) && !has_handlers
    }

    /// Returns the number of unwritten bytes.
    pub(super) fn backlog(&self) -> usize {
        self.lock().backlog()
    }

    /// Wakes the driver.
    pub(in crate::native) fn wake(&self) {
        let driver = self.lock().wake();
        if let Some(driver) = driver {
            driver.wake();
        }
    }
}
