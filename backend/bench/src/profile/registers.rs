//! The registers of x86-64 by their numbers in unwind data.

/// General registers and where execution stands.
pub(super) const COUNT: usize = 17;
/// The stack pointer.
pub(super) const SP: usize = 7;
/// Where execution stands: what unwind data calls the return address.
pub(super) const IP: usize = 16;

/// One value each, by number.
pub(super) type Registers = [u64; COUNT];

/// The kernel's places of the registers, in the order of their numbers.
const PLACES: [libc::c_int; COUNT] = [
    libc::REG_RAX,
    libc::REG_RDX,
    libc::REG_RCX,
    libc::REG_RBX,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_RBP,
    libc::REG_RSP,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
    libc::REG_RIP,
];

/// Those of the code that a signal interrupted.
pub(super) fn interrupted(context: &libc::ucontext_t) -> Registers {
    PLACES.map(|place| {
        let value = usize::try_from(place)
            .ok()
            .and_then(|place| context.uc_mcontext.gregs.get(place));
        value.map_or(0, |value| value.cast_unsigned())
    })
}
