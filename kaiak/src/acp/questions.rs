//! Open questions of a turn. A question blocks neither the updates of the agent nor another question.

use std::future::poll_fn;
use std::task::Poll;

use crate::backend::BoxFuture;

/// Futures that run at the same time.
pub(super) struct Questions<'a, T>(Vec<BoxFuture<'a, T>>);

impl<'a, T> Questions<'a, T> {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn push(&mut self, question: BoxFuture<'a, T>) {
        self.0.push(question);
    }

    /// Ends all questions.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Waits for the next answer. Without a question, this future never completes.
    pub(super) async fn next(&mut self) -> T {
        poll_fn(|context| {
            for index in 0..self.0.len() {
                let Some(question) = self.0.get_mut(index) else { continue };
                if let Poll::Ready(answer) = question.as_mut().poll(context) {
                    drop(self.0.swap_remove(index));
                    return Poll::Ready(answer);
                }
            }
            Poll::Pending
        })
        .await
    }
}
