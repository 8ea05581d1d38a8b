//! The tasks of the benchmark with the crate lsp-server. The crate has transports for standard streams and for TCP.
//! This module has two transports for Unix sockets: one with channels, and one without.

use std::hint::black_box;
use std::io::{BufReader, BufWriter};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;

use ::lsp_server::{Connection, Message, Response};
use anyhow::Result;
use crossbeam_channel::bounded;

use super::Echo;
use crate::decode::CHUNK;

pub(crate) fn decode(stream: &[u8]) -> Result<usize> {
    let mut reader = BufReader::with_capacity(CHUNK, stream);
    let mut count = 0;
    while let Some(message) = Message::read(&mut reader)? {
        black_box(message);
        count += 1;
    }
    Ok(count)
}

pub(crate) fn serve(socket: &Path, on_connection: fn(UnixStream) -> Result<()>) -> Result<()> {
    for stream in UnixListener::bind(socket)?.incoming() {
        let stream = stream?;
        thread::spawn(move || on_connection(stream));
    }
    Ok(())
}

/// Serves with channels and threads, as the TCP transport of lsp-server does. A third thread drops the sent messages.
pub(crate) fn with_channels(stream: UnixStream) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    let (incoming, receiver) = bounded(0);
    let (sender, outgoing) = bounded::<Message>(0);
    let (drop_sender, drop_receiver) = bounded::<Message>(0);
    thread::spawn(move || -> Result<()> {
        while let Some(message) = Message::read(&mut reader)? {
            incoming.send(message)?;
        }
        Ok(())
    });
    thread::spawn(move || -> Result<()> {
        for message in outgoing {
            message.write(&mut writer)?;
            drop_sender.send(message)?;
        }
        Ok(())
    });
    thread::spawn(move || drop_receiver.into_iter().for_each(drop));
    let connection = Connection { sender, receiver };
    for message in &connection.receiver {
        if let Some(response) = answer(message) {
            connection.sender.send(response.into())?;
        }
    }
    Ok(())
}

/// Serves in one thread. Uses only the functions of lsp-server that read and write a message.
pub(crate) fn without_channels(stream: UnixStream) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = BufWriter::new(stream);
    while let Some(message) = Message::read(&mut reader)? {
        if let Some(response) = answer(message) {
            Message::from(response).write(&mut writer)?;
        }
    }
    Ok(())
}

fn answer(message: Message) -> Option<Response> {
    let Message::Request(request) = message else { return None };
    let (id, echo) = request.extract::<Echo>("echo").ok()?;
    Some(Response::new_ok(id, echo))
}
