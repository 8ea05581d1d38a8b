//! The options of a link, which a transport collects.

use std::time::Duration;

use super::diagnostic::DiagnosticSink;
use super::identity::Identity;
use super::tap::Tap;
use super::wipc_options::WipcOptions;
use crate::Limits;
use crate::profile::Profile;

/// The options of a link.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) profile: Profile,
    pub(super) limits: Limits,
    pub(super) grace: Duration,
    pub(super) diagnostics: DiagnosticSink,
    pub(super) wipc: WipcOptions,
    pub(super) identity: Option<Identity>,
    pub(super) tap: Option<Tap>,
}
