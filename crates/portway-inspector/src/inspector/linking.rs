//! Links the messages of rows: requests with their responses, and batches with the arrays that answer them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use portway_proto::message::Id;

use super::{Batch, CallState, Inspector, Item, Reason};
use crate::buffer::{Flags, Row};
use crate::classify::{Kind, Message};
use crate::limits::{MAX_BATCH_ITEMS, MAX_MISSING_IDS};
use crate::links::{self, Call, CallPlace, MethodId};
use crate::record::Direction;

/// A call that a response has ended.
struct Answered {
    place: CallPlace,
    call: Call,
    elapsed: u64,
}

impl Inspector {
    pub(super) fn link_single(&mut self, row: &mut Row, message: Message) {
        let Some(direction) = row.direction else { return };
        let bytes = row.size().unwrap_or_else(|| u64::from(row.text_bytes));
        if let Some(method) = &message.method {
            row.method = self.methods.acquire(method);
        }
        match message.kind {
            Kind::Notification => {
                let figures = self.statistics.of(row.link, row.method, &mut self.methods);
                figures.notifications += 1;
                figures.add_bytes(bytes);
            }
            Kind::Request => {
                let place = CallPlace { seq: row.seq, item: 0 };
                self.start_call(row, direction, place, message.id, row.method, false);
                self.statistics.of(row.link, row.method, &mut self.methods).add_bytes(bytes);
            }
            Kind::Result | Kind::Error => {
                let Some(answered) = self.answer(row, direction, message.id.as_ref(), message.kind, None) else {
                    return;
                };
                row.set_partner(answered.place.seq);
                row.set_elapsed(answered.elapsed);
                row.method = answered.call.method;
                self.statistics.of(row.link, row.method, &mut self.methods).add_bytes(bytes);
            }
            _ => {}
        }
    }

    pub(super) fn link_batch(&mut self, row: &mut Row, messages: Vec<Message>) {
        let Some(direction) = row.direction else { return };
        let answered_batch = self.find_answered_batch(row, direction, &messages);
        let mut batch = Batch::default();
        // A response in this array ends no call of this array: `answer` looks for calls of the opposite direction.
        for (index, message) in messages.into_iter().enumerate() {
            let item = self.link_item(row, direction, index, message, &mut batch);
            if batch.items.len() < MAX_BATCH_ITEMS {
                batch.items.push(item);
            } else {
                self.methods.release(item.method);
            }
        }
        self.batches.insert(row.seq, batch);
        if let Some(answered) = answered_batch {
            row.set_partner(answered);
            let seq = row.seq;
            let at = row.at;
            let elapsed = self.buffer.update(answered, |request| {
                let elapsed = at.saturating_sub(request.at);
                request.set_partner(seq);
                request.set_elapsed(elapsed);
                elapsed
            });
            if let Some(elapsed) = elapsed {
                row.set_elapsed(elapsed);
            }
        }
    }

    fn link_item(
        &mut self,
        row: &mut Row,
        direction: Direction,
        index: usize,
        message: Message,
        batch: &mut Batch,
    ) -> Item {
        let method = message.method.as_deref().map_or(MethodId::NONE, |method| self.methods.acquire(method));
        let mut item = Item {
            kind: message.kind,
            method,
            id: message.id.clone().map(links::bounded),
            code: message.code,
            calls: CallState::None,
            is_unmatched: false,
            partner: None,
            elapsed: None,
        };
        match message.kind {
            Kind::Notification => {
                self.statistics.of(row.link, method, &mut self.methods).notifications += 1;
            }
            Kind::Request => {
                let place = CallPlace { seq: row.seq, item: u32::try_from(index).unwrap_or(u32::MAX) };
                self.start_call(row, direction, place, message.id, method, true);
                item.calls = CallState::Pending;
                batch.pending += 1;
            }
            Kind::Result | Kind::Error => {
                match self.answer(row, direction, message.id.as_ref(), message.kind, Some(index)) {
                    Some(answered) => {
                        item.partner = Some(answered.place.seq);
                        item.elapsed = Some(answered.elapsed);
                        item.method = answered.call.method;
                    }
                    None => item.is_unmatched = true,
                }
            }
            _ => {}
        }
        item
    }

    /// Adds a pending call.
    fn start_call(
        &mut self,
        row: &mut Row,
        direction: Direction,
        place: CallPlace,
        id: Option<Id>,
        method: MethodId,
        is_in_batch: bool,
    ) {
        let Some(id) = id else { return };
        let id = links::matching(links::bounded(id));
        self.methods.retain(method);
        let call = Call { link: row.link, direction, id, method, at: row.at, has_row: true, is_in_batch };
        if let Some(other) = self.calls.insert(place, call) {
            row.flags.set(Flags::REPEATED_ID, true);
            self.reasons.insert(row.seq, Reason::RepeatedId { other: other.seq });
        }
        row.flags.set(Flags::PENDING, true);
        let figures = self.statistics.of(row.link, method, &mut self.methods);
        figures.calls += 1;
        figures.pending += 1;
        self.links.update(row.link, |link| link.pending += 1);
    }

    /// Ends the call that a response answers. Returns `None` if no call waited for the response. The returned call has
    /// a reference to its method, and the caller must store or release this reference.
    fn answer(
        &mut self,
        row: &mut Row,
        direction: Direction,
        id: Option<&Id>,
        kind: Kind,
        item: Option<usize>,
    ) -> Option<Answered> {
        let id = id.cloned().map(|id| links::matching(links::bounded(id)));
        let place = id.as_ref().and_then(|id| self.calls.find(row.link, direction.opposite(), id));
        let Some(place) = place else {
            let reason = self.reason_of_unmatched(row.link, direction, id);
            let is_excused = matches!(reason, Reason::IncompleteRecording { .. });
            let was_unmatched = row.flags.has(Flags::UNMATCHED);
            row.flags.set(Flags::UNMATCHED, true);
            // An array of responses is excused if each of its unmatched responses is excused.
            row.flags.set(Flags::EXCUSED, is_excused && (!was_unmatched || row.flags.has(Flags::EXCUSED)));
            self.reasons.entry(row.seq).or_insert(reason);
            self.figures.unmatched += 1;
            self.links.update(row.link, |link| link.unmatched += 1);
            return None;
        };
        let call = self.calls.answer(place, row.seq)?;
        let elapsed = row.at.saturating_sub(call.at);
        self.links.update(row.link, |link| {
            link.pending = link.pending.saturating_sub(1);
            link.durations.add(elapsed);
            link.last_elapsed = Some(elapsed);
        });
        let figures = self.statistics.of(row.link, call.method, &mut self.methods);
        figures.pending = figures.pending.saturating_sub(1);
        figures.errors += u64::from(kind == Kind::Error);
        figures.durations.add(elapsed);
        self.mark_answered(place, row.seq, elapsed, item.is_some());
        Some(Answered { place, call, elapsed })
    }

    /// Marks the request of an answered call. `is_in_array` is true if the response is in an array of responses.
    fn mark_answered(&mut self, place: CallPlace, response: u64, elapsed: u64, is_in_array: bool) {
        let is_pending = match self.batches.get_mut(&place.seq) {
            None => false,
            Some(batch) => {
                batch.pending = batch.pending.saturating_sub(1);
                if let Some(item) = batch.items.get_mut(place.item as usize) {
                    item.calls = CallState::Answered;
                    item.partner = Some(response);
                    item.elapsed = Some(elapsed);
                }
                batch.pending > 0
            }
        };
        let is_single = !self.batches.contains_key(&place.seq);
        self.buffer.update(place.seq, |request| {
            request.flags.set(Flags::PENDING, is_pending);
            request.flags.set(Flags::ANSWERED, !is_pending && !request.flags.has(Flags::ENDED));
            if is_single {
                request.set_partner(response);
                request.set_elapsed(elapsed);
            } else if !is_pending && !is_in_array {
                // The response is not in an array, and has ended the last pending call of the batch.
                request.set_elapsed(elapsed);
            }
        });
        if !is_pending {
            self.reconsider(place.seq);
        }
    }

    /// Returns the batch that an array of responses answers.
    fn find_answered_batch(&mut self, row: &mut Row, direction: Direction, messages: &[Message]) -> Option<u64> {
        let responses = messages.iter().filter(|message| message.kind.is_response());
        let ids: BTreeSet<Id> =
            responses.filter_map(|message| message.id.clone()).map(|id| links::matching(links::bounded(id))).collect();
        let places = ids.iter().filter_map(|id| self.calls.find(row.link, direction.opposite(), id));
        let candidates: BTreeSet<u64> =
            places.filter(|place| self.batches.contains_key(&place.seq)).map(|place| place.seq).collect();
        let rule = self.options.batch_match;
        let is_answered = |batch: &u64| {
            let pending = self.calls.of_row(*batch).map(|(_, call)| &call.id);
            links::answers(pending, |id| ids.contains(id), rule)
        };
        if let Some(batch) = candidates.iter().find(|batch| is_answered(batch)) {
            return Some(*batch);
        }
        let batch = *candidates.first()?;
        let mut all_missing = self.calls.of_row(batch).map(|(_, call)| &call.id).filter(|id| !ids.contains(*id));
        let missing = all_missing.by_ref().take(MAX_MISSING_IDS).cloned().collect();
        let more = all_missing.count();
        row.flags.set(Flags::INCOMPLETE, true);
        self.reasons.insert(row.seq, Reason::IncompleteBatch { batch, missing, more });
        None
    }

    /// Returns the most specific reason why no call waited for a response.
    fn reason_of_unmatched(&self, link: u32, direction: Direction, id: Option<Id>) -> Reason {
        let requests = direction.opposite();
        let Some(id) = id else { return Reason::NoId };
        if id == Id::Null {
            return Reason::NullId;
        }
        if let Some(first) = self.calls.response_to(link, requests, &id) {
            return Reason::SecondResponse { first };
        }
        if let Some(other) = links::other_type(&id)
            && let Some(place) = self.calls.find(link, requests, &other)
        {
            return Reason::OtherType { call: place.seq, id: other };
        }
        let lost = self.links.get(link).map_or(0, |link| link.lost);
        let has_open = self.links.get(link).is_some_and(|link| link.opens > 0);
        if lost > 0 || !has_open {
            return Reason::IncompleteRecording { lost };
        }
        let mut pending = self.calls.of_link(link, requests);
        match (pending.next(), pending.next()) {
            (Some((place, call)), None) => Reason::OnlyPending { call: place.seq, id: call.id.clone() },
            _ => Reason::Unknown,
        }
    }

    /// Ends all calls of a link, because its connection has closed in the row `close`.
    pub(super) fn end_calls(&mut self, link: u32, close: u64) {
        let mut rows = BTreeMap::new();
        for (place, call) in self.calls.close(link) {
            let figures = self.statistics.of(link, call.method, &mut self.methods);
            figures.ended += 1;
            rows.insert(place.seq, ());
            if let Some(batch) = self.batches.get_mut(&place.seq) {
                batch.has_ended = true;
                batch.pending = batch.pending.saturating_sub(1);
                if let Some(item) = batch.items.get_mut(place.item as usize) {
                    item.calls = CallState::Ended;
                }
            }
            self.release_call(&call);
        }
        for seq in rows.into_keys() {
            let ended = self.buffer.update(seq, |row| {
                let had_errors = row.has_errors();
                row.flags.set(Flags::PENDING, false);
                row.flags.set(Flags::ANSWERED, false);
                row.flags.set(Flags::ENDED, true);
                !had_errors
            });
            if let Some(is_new_error) = ended {
                self.reasons.insert(seq, Reason::Ended { close });
                self.links.update(link, |link| link.errors += u64::from(is_new_error));
                self.reconsider(seq);
            }
        }
    }

    /// Removes a call without a response from the figures of pending calls.
    pub(super) fn release_call(&mut self, call: &Call) {
        let figures = self.statistics.of(call.link, call.method, &mut self.methods);
        figures.pending = figures.pending.saturating_sub(1);
        self.links.update(call.link, |link| link.pending = link.pending.saturating_sub(1));
        self.methods.release(call.method);
    }
}
