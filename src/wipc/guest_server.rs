//! A blocking server for the JSON-RPC calls of the host. It handles one call at a time.

use core::fmt;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{format, vec::Vec};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::guest::Guest;
use crate::Limits;
use crate::codec::json;
use crate::codec::wipc::{Frame, FrameType, MAX_PAYLOAD};
use crate::connection::{Config, Connection, Event};
use crate::error::{RpcError, handler_panicked, invalid_params, method_not_found};
use crate::json_value::{Text, read_params, write_params, write_result};
use crate::message::{Fault, Incoming, Message, Notification, Outgoing, Reason};
use crate::message_length;
use crate::method_name::is_reserved;
use crate::profile::Profile;

/// A blocking server of a guest. The host calls its methods.
///
/// ```no_run
/// use portway::RpcError;
/// use portway::wipc::{Guest, GuestServer};
///
/// GuestServer::new()
///     .method("add", |(a, b): (i64, i64), _| a.checked_add(b).ok_or_else(|| RpcError::invalid_params("too large")))
///     .serve(&mut Guest::new())?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "a guest answers no call until `serve` runs"]
#[derive(Default)]
pub struct GuestServer<'h> {
    methods: HashMap<String, Box<Method<'h>>>,
    notifications: HashMap<String, Box<OnNotify<'h>>>,
    on_frame: Option<Box<OnFrame<'h>>>,
    limits: Option<Limits>,
    /// The first name that was not registered because it is reserved.
    reserved: Option<String>,
}

type Method<'h> = dyn FnMut(Option<&RawValue>, &mut HostLink<'_>) -> Result<Text, RpcError> + 'h;
type OnNotify<'h> = dyn FnMut(Option<&RawValue>, &mut HostLink<'_>) + 'h;
type OnFrame<'h> = dyn FnMut(Frame<'_>, &mut HostLink<'_>) + 'h;

/// Sends notifications and frames to the host. Each handler receives a `HostLink`.
pub struct HostLink<'a> {
    output: &'a mut dyn Output,
    /// Maximum length of a message, in bytes.
    max_bytes: usize,
}

trait Output {
    fn send(&mut self, frame_type: FrameType, payload: &[u8]) -> io::Result<()>;
}

impl<R: Read, W: Write> Output for Guest<R, W> {
    fn send(&mut self, frame_type: FrameType, payload: &[u8]) -> io::Result<()> {
        Self::send(self, frame_type, payload)
    }
}

impl HostLink<'_> {
    /// Sends a notification to the host. `params` must serialize to an object or an array, or be `()` for no params.
    ///
    /// # Errors
    /// Returns [`io::ErrorKind::InvalidInput`] if the params cannot be serialized, or if the message would exceed
    /// [`Limits::message_bytes`]. Also returns the errors of [`Guest::send`].
    pub fn notify(&mut self, method: &str, params: &(impl Serialize + ?Sized)) -> io::Result<()> {
        let to_io_error =
            |problem| io::Error::new(io::ErrorKind::InvalidInput, format!("the params cannot be sent: {problem}"));
        let params = write_params(params).map_err(to_io_error)?;
        message_length::check_call(None, method, params.as_deref(), self.max_bytes).map_err(to_io_error)?;
        let notification = Message::Notification(Notification { method: method.into(), params });
        self.output.send(FrameType::Call, json::encode(&Outgoing::Single(notification)).as_bytes())
    }

    /// Sends a frame of another type than `CALL`, such as `DATA`.
    ///
    /// # Errors
    /// The errors of [`Guest::send`].
    pub fn send(&mut self, frame_type: FrameType, payload: &[u8]) -> io::Result<()> {
        self.output.send(frame_type, payload)
    }
}

impl fmt::Debug for HostLink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostLink")
    }
}

impl<'h> GuestServer<'h> {
    /// Creates a server without methods.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a handler for a method. The handler receives the params, and returns the result or the error of the
    /// call. If the handler panics, the call is answered with the error -32603. On a target that aborts on panics, the
    /// process exits instead.
    pub fn method<P, R, E>(
        mut self,
        name: &str,
        mut handler: impl FnMut(P, &mut HostLink<'_>) -> Result<R, E> + 'h,
    ) -> Self
    where
        P: DeserializeOwned,
        R: Serialize,
        E: Into<RpcError>,
    {
        let handler = move |params: Option<&RawValue>, host: &mut HostLink<'_>| {
            let params = read_params(params).map_err(|problem| invalid_params(&problem))?;
            write_result(handler(params, host))
        };
        if self.may_register(name) {
            self.methods.insert(name.to_string(), Box::new(handler));
        }
        self
    }

    /// Registers a handler for a notification. A notification whose params are not of the handler's type is ignored.
    /// After a panic of the handler, the panic hook runs, and the server reads the next frame. On a target that aborts
    /// on panics, the process exits instead.
    pub fn on_notify<P: DeserializeOwned>(
        mut self,
        name: &str,
        mut handler: impl FnMut(P, &mut HostLink<'_>) + 'h,
    ) -> Self {
        let handler = move |params: Option<&RawValue>, host: &mut HostLink<'_>| {
            if let Ok(params) = read_params(params) {
                handler(params, host);
            }
        };
        if self.may_register(name) {
            self.notifications.insert(name.to_string(), Box::new(handler));
        }
        self
    }

    /// Registers a handler for all frames other than `CALL`: `OPEN`, `CLOSE` and `DATA`. A panic of the handler has the
    /// same effect as with [`GuestServer::on_notify`].
    pub fn on_frame(mut self, handler: impl FnMut(Frame<'_>, &mut HostLink<'_>) + 'h) -> Self {
        self.on_frame = Some(Box::new(handler));
        self
    }

    /// Sets the limits on the resources that the host can use. Default: [`Limits::DEFAULT`].
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits: Some(limits), ..self }
    }

    /// Returns whether a handler may have this name.
    fn may_register(&mut self, name: &str) -> bool {
        let is_allowed = !is_reserved(name);
        if !is_allowed {
            self.reserved.get_or_insert_with(|| name.to_string());
        }
        is_allowed
    }

    /// Sends `OPEN`, and then answers calls until `CLOSE` is received or sent, or until the input ends. A `CALL` that
    /// is not valid JSON-RPC is answered with an error, and does not end the server.
    ///
    /// # Errors
    /// Returns [`io::ErrorKind::InvalidInput`] if a handler was registered for a reserved name. Also returns the errors
    /// of [`Guest::send`] and [`Guest::receive`].
    pub fn serve<R: Read, W: Write>(mut self, guest: &mut Guest<R, W>) -> io::Result<()> {
        if let Some(name) = &self.reserved {
            let problem = format!("{name:?} cannot be registered: names that begin with rpc. are reserved");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let limits = self.limits.unwrap_or(Limits::DEFAULT);
        let mut connection = Connection::new(Config::new(Profile::GENERIC).with_limits(limits));
        guest.limit_calls(limits.message_bytes);
        let served = self.answer_calls(guest, &mut connection, &limits);
        guest.limit_calls(usize::MAX);
        served
    }

    fn answer_calls<R: Read, W: Write>(
        &mut self,
        guest: &mut Guest<R, W>,
        connection: &mut Connection<Text>,
        limits: &Limits,
    ) -> io::Result<()> {
        let max_bytes = limits.message_bytes.min(MAX_PAYLOAD as usize);
        guest.send(FrameType::Open, &[])?;
        while !guest.has_closed()
            && let Some(frame) = guest.receive()?
        {
            if frame.frame_type != FrameType::Call {
                if let Some(handler) = &mut self.on_frame {
                    let borrowed = Frame { frame_type: frame.frame_type, payload: &frame.payload };
                    catch_panic(|| handler(borrowed, &mut HostLink { output: guest, max_bytes }));
                }
                continue;
            }
            connection.handle(match guest.is_oversize() {
                true => Incoming::Single(Err(Fault::Refused(Reason::Oversize).into())),
                false => json::decode(&frame.payload, &Profile::GENERIC, limits),
            });
            drop(frame);
            while let Some(event) = connection.poll_event() {
                match event {
                    Event::Request { key, method, params } => {
                        let outcome = self.answer(&method, params.as_deref(), guest, max_bytes);
                        connection.respond(key, outcome.map_err(Into::into));
                    }
                    Event::Notification(Notification { method, params }) => {
                        if let Some(handler) = self.notifications.get_mut(&*method) {
                            catch_panic(|| handler(params.as_deref(), &mut HostLink { output: guest, max_bytes }));
                        }
                    }
                    Event::Cancelled(_) | Event::Ignored(_) | Event::Ended { .. } => {}
                }
            }
            let mut text = String::new();
            while let Some(mut message) = connection.poll_transmit() {
                if guest.has_closed() {
                    return Ok(());
                }
                if message_length::encode_within(&mut message, max_bytes, &mut text) {
                    guest.send(FrameType::Call, text.as_bytes())?;
                }
            }
        }
        Ok(())
    }

    fn answer<R: Read, W: Write>(
        &mut self,
        method: &str,
        params: Option<&RawValue>,
        guest: &mut Guest<R, W>,
        max_bytes: usize,
    ) -> Result<Text, RpcError> {
        let Some(handler) = self.methods.get_mut(method) else {
            return Err(method_not_found(method));
        };
        catch_panic(|| handler(params, &mut HostLink { output: guest, max_bytes }))
            .unwrap_or_else(|| Err(handler_panicked()))
    }
}

/// Runs a handler. Returns `None` if the handler panics. After a panic, the state of the handler may be inconsistent,
/// but the state of the server is not.
fn catch_panic<T>(run: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(run)).ok()
}

impl fmt::Debug for GuestServer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.methods.keys().collect();
        f.debug_struct("GuestServer").field("methods", &names).finish_non_exhaustive()
    }
}
