//! Removes text before messages from the output of an agent.
//!
//! Agents print banners, and escape sequences for terminals, also in the line of a message. A message is a JSON object,
//! so all bytes of a line before its first `{` are dropped. A line without `{` is dropped as a whole.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use memchr::{memchr, memchr2};
use tokio::io::{AsyncRead, ReadBuf};

/// The output of an agent without text before messages.
#[derive(Debug)]
pub(super) struct OutputFilter<R> {
    reader: R,
    /// Whether the read position is inside a message.
    in_message: bool,
}

impl<R> OutputFilter<R> {
    pub(super) const fn new(reader: R) -> Self {
        Self { reader, in_message: false }
    }

    /// Moves the bytes of messages to the front of `bytes`. Returns their number.
    fn retain_messages(&mut self, bytes: &mut [u8]) -> usize {
        let (mut from, mut to) = (0, 0);
        while let Some(rest) = bytes.get(from..).filter(|rest| !rest.is_empty()) {
            if self.in_message {
                let length = memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
                self.in_message = rest.get(length.wrapping_sub(1)) != Some(&b'\n');
                bytes.copy_within(from..from + length, to);
                (from, to) = (from + length, to + length);
            } else {
                match memchr2(b'{', b'\n', rest) {
                    Some(at) if rest.get(at) == Some(&b'{') => (self.in_message, from) = (true, from + at),
                    Some(at) => from += at + 1,
                    None => break,
                }
            }
        }
        to
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for OutputFilter<R> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let start = buffer.filled().len();
        loop {
            ready!(Pin::new(&mut this.reader).poll_read(context, buffer))?;
            let end = buffer.filled().len();
            if end == start {
                return Poll::Ready(Ok(()));
            }
            let kept = buffer.filled_mut().get_mut(start..).map_or(0, |bytes| this.retain_messages(bytes));
            buffer.set_filled(start + kept);
            // An empty read would mean the end of the output.
            if kept > 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OutputFilter;

    #[test]
    fn only_the_bytes_of_messages_pass_through() {
        let input = b"Welcome\n\x1b[2J{\"a\":\"{\"}\n\nno message\n{}\r\nlog {x}\nend";
        for size in 1..=input.len() {
            let mut filter = OutputFilter::new(());
            let mut output = Vec::new();
            for chunk in input.chunks(size) {
                let mut chunk = chunk.to_vec();
                let kept = filter.retain_messages(&mut chunk);
                output.extend_from_slice(chunk.get(..kept).unwrap_or_default());
            }
            assert_eq!(String::from_utf8_lossy(&output), "{\"a\":\"{\"}\n{}\r\n{x}\n", "chunks of {size} bytes");
        }
    }
}
