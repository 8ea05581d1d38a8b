//! What a module without the standard library needs besides code: an allocator, and an end for panics.
//!
//! It stands here and not in the leaf crate, since cargo builds this crate as a `cdylib`, too, wherever it is used.

use core::panic::PanicInfo;

#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();

/// A panic is a trap: the library's own code has none, and formatting their messages would double the module.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
