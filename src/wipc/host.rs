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

/// A guest process, for frames of any content.
///
/// If the host is dropped, the guest and its descendants are killed. Two seconds after `CLOSE` was sent or received
/// (see [`Host::with_grace`]), the guest and its descendants get `SIGTERM`, and half a second later `SIGKILL`. If the
/// guest exits before it gets a signal, its remaining descendants get `SIGTERM` 250 ms after the exit. See
/// [`Transport::child`](crate::Transport::child) for the process group.
///
/// # Platforms
/// Windows has no such signals. On Windows, the guest and its descendants are killed after the two seconds. If the
/// guest exits earlier, its remaining descendants are killed after the 250 ms.
///
/// # Example
/// This example sends a `DATA` frame. For JSON-RPC calls, use `Client::new(Transport::child(command, Framing::Wipc)?)`
/// instead.
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
    /// If the guest cannot be started, or if the function is called outside of a tokio runtime.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
        let (child, Pipes { stdin, stdout, .. }) = ChildProcess::spawn(command)?;
        let (sender, receiver) = Channel::host(stdout, stdin)?.split();
        let guest = GuestProcess::new(child, receiver.output());
        Ok(Self { sender, receiver, guest, output_deadline: None })
    }

    /// Replaces the receiver with the result of `change`, for example of [`Receiver::on_passthrough`].
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

    /// Returns a sender, which can send while the host waits for frames.
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
    /// The errors of [`Receiver::receive`].
    pub async fn receive(&mut self) -> io::Result<Option<OwnedFrame>> {
        if self.output_deadline.is_none()
            && let Some(received) = run_until(self.receiver.receive(), self.guest.exited()).await
        {
            return received;
        }
        let end = *self.output_deadline.get_or_insert_with(|| Instant::now() + OUTPUT_GRACE);
        timeout_at(end, self.receiver.receive()).await.unwrap_or(Ok(None))
    }

    /// Asks the guest to exit. Sends `CLOSE` with `payload`, ends the input of the guest, and waits for the exit of the
    /// guest and its descendants. Further frames of the guest are dropped, but the function of
    /// [`Receiver::on_passthrough`] still receives other output. When the grace is over, the guest and its descendants
    /// get `SIGTERM`, and half a second later `SIGKILL`. The grace starts at the first `CLOSE` that is sent or
    /// received. After the exit, remaining output is read for up to 250 ms.
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
            // `send` fails if the guest has sent `CLOSE` or has exited. In these cases, `CLOSE` is not needed.
            let _ = sender.send(FrameType::Close, &payload).await;
            sender.end().await;
        });
        // The output is read, because a guest with a full output pipe may block before it exits.
        receiving.spawn(async move { while matches!(receiver.receive().await, Ok(Some(_))) {} });
        guest.all_exited().await;
        // The remaining output is read with a timeout, because a background process of the guest may keep the output
        // open.
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
