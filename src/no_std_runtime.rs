//! The runtime of a module without the standard library: an allocator and a panic handler.
//!
//! It is in this crate and not in the npm crate, since cargo also builds this crate as a `cdylib`, which needs both.

use core::panic::PanicInfo;

#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();

/// Traps without a message. The library itself does not panic, and formatting of messages would double the size of the
/// module.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
