//! Decodes requests in the usual form, which most libraries write. The members are `jsonrpc`, `id`, `method` and
//! `params`, in this order and without whitespace between them. The id is a number. A request in this form is decoded
//! in one pass, without a search for its members. The result is the same as with
//! [`Envelope`](super::envelope::Envelope).

use serde_json::value::RawValue;

use super::decode::BorrowedRequest;
use super::envelope::borrowed_string;
use super::raw::raw;
use super::scan::Scanner;
use crate::Limits;
use crate::limits::MAX_METHOD_LENGTH;
use crate::message::Id;
use crate::profile::Profile;

/// Returns the request. Returns `None` if the text has any other form, or must be refused.
pub(super) fn usual_request<'t>(text: &'t str, profile: &Profile, limits: &Limits) -> Option<BorrowedRequest<'t>> {
    let mut scanner = Scanner::new(text, limits.depth);
    scanner.begin(r#"{"jsonrpc":"2.0","id":"#)?;
    let id = scanner.short_integer()?;
    scanner.skip_text(r#","method":"#)?;
    let method = scanner.value().filter(|method| method.len() <= MAX_METHOD_LENGTH)?;
    let method = borrowed_string(method)?;
    scanner.skip_text(r#","params":"#)?;
    let params = scanner.value().filter(|params| match params.as_bytes().first() {
        Some(b'{') => true,
        Some(b'[') => !profile.is_mcp(),
        _ => false,
    })?;
    let params: &RawValue = raw(params)?;
    scanner.skip_text("}")?;
    let is_complete = scanner.is_at_end() && scanner.take_defect().is_none();
    is_complete.then_some(BorrowedRequest { id: Id::Integer(id), method, params: Some(params) })
}
