//! Starts a guest process, and exchanges frames with it.

use core::time::Duration;
use std::io;
use std::process::ExitStatus;

use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::OwnedFrame;
use super::channel::{Channel, Receiver, Sender, run_until};
use super::guest_process::GuestProcess;
use crate::codec::wipc::FrameType;
use crate::native::child::{ChildProcess, Pipes};
use crate::native::limits::OUTPUT_GRACE;

/// A guest in its own process, for frames of any content.
///
/// Dropping the host kills the guest and its descendants. Two seconds after `CLOSE` was sent or received (see
/// [`Host::with_grace`]), the guest and its descendants get `SIGTERM`, and half a second later `SIGKILL`. If a guest
/// exits by itself, its remaining descendants get `SIGTERM` 250 ms later. See
/// [`Transport::child`](crate::Transport::child) for the process group.
///
/// # Platforms
/// Windows has no such signals: the guest and its descendants are killed when the two seconds, or the 250 ms, are over.
///
/// # Example
/// For JSON-RPC calls, use `Client::new(Transport::child(command, Framing::Wipc)?)`. For other frames:
///
/// ```
/// use portway::codec::wipc::FrameType;
/// use portway::wipc::Host;
/// use tokio::process::Command;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// // `cat` returns all input.
/// let mut guest = Host::spawn(&mut Command::new("cat"))?;
/// guest.send(FrameType::Data, b"hello").await?;
/// let answer = guest.receive().await?;
/// # assert_eq!(answer.map(|frame| frame.payload.to_vec()), Some(b"hello".to_vec()));
/// let status = guest.close(b"").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Host {
    sender: Sender,
    receiver: Receiver,
    guest: GuestProcess,
    /// The deadline for reading the output of a guest that has exited.
    output_deadline: Option<Instant>,
}

impl Host {
    /// Starts a guest with piped standard input and output. The guest inherits standard error, unless `command`
    /// redirects it.
    ///
    /// # Errors
    /// If the guest cannot be started, or there is no tokio runtime.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
        let (child, Pipes { stdin, stdout, .. }) = ChildProcess::spawn(command)?;
        let (sender, receiver) = Channel::host(stdout, stdin)?.split();
        let guest = GuestProcess::new(child, receiver.output());
        Ok(Self { sender, receiver, guest, output_deadline: None })
    }

    /// Changes the receiver, for example by [`Receiver::on_passthrough`].
    #[must_use]
    pub fn with_receiver(self, change: impl FnOnce(Receiver) -> Receiver) -> Self {
        Self { receiver: change(self.receiver), ..self }
    }

    /// Sets the maximum time that the guest has to exit before it gets `SIGTERM`, or is killed on Windows. Default: two
    /// seconds.
    #[must_use]
    pub fn with_grace(self, grace: Duration) -> Self {
        self.guest.set_grace(grace);
        self
    }

    /// Returns a sender, which can be used while this host waits for frames.
    #[must_use]
    pub fn sender(&self) -> Sender {
        self.sender.clone()
    }

    /// See [`Sender::send`].
    ///
    /// # Errors
    /// If the frame cannot be sent.
    pub async fn send(&self, frame_type: FrameType, payload: &[u8]) -> io::Result<()> {
        self.sender.send(frame_type, payload).await
    }

    /// See [`Receiver::receive`]. Returns `None` after the guest has exited, even if a descendant of the guest keeps
    /// the output open.
    ///
    /// # Errors
    /// If nothing more can be received.
    pub async fn receive(&mut self) -> io::Result<Option<OwnedFrame>> {
        if self.output_deadline.is_none()
            && let Some(received) = run_until(self.receiver.receive(), self.guest.exited()).await
        {
            return received;
        }
        let end = *self.output_deadline.get_or_insert_with(|| Instant::now() + OUTPUT_GRACE);
        timeout_at(end, self.receiver.receive()).await.unwrap_or(Ok(None))
    }

    /// Asks the guest to exit: sends `CLOSE`, ends its input and waits for the exit. Further frames of the guest are
    /// dropped, and its output is passed through. When the grace is over, the guest and its descendants get `SIGTERM`,
    /// and `SIGKILL` half a second later. The grace starts at the first `CLOSE` in either direction. Output that has
    /// arrived is read for up to 250 ms more.
    ///
    /// # Errors
    /// If waiting for the exit fails.
    pub async fn close(self, payload: &[u8]) -> io::Result<ExitStatus> {
        let Self { sender, mut receiver, guest, .. } = self;
        guest.end();
        let payload = payload.to_vec();
        // Both tasks are aborted when this future is dropped.
        let (mut sending, mut receiving) = (JoinSet::new(), JoinSet::new());
        sending.spawn(async move {
            // This fails if the guest has sent `CLOSE` or has exited. Then `CLOSE` is not needed.
            let _ = sender.send(FrameType::Close, &payload).await;
            sender.end().await;
        });
        // A guest whose output is not read may block before it exits.
        receiving.spawn(async move { while matches!(receiver.receive().await, Ok(Some(_))) {} });
        guest.all_exited().await;
        // The rest of its output is passed through. A daemon among its descendants may keep the output open.
        let _ = timeout(OUTPUT_GRACE, receiving.join_next()).await;
        guest.status().await
    }

    /// Kills the guest at once.
    ///
    /// # Errors
    /// If waiting for the exit fails.
    pub async fn kill(self) -> io::Result<ExitStatus> {
        self.guest.kill();
        self.guest.status().await
    }
}
