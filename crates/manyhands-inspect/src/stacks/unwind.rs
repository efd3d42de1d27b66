//! From registers and a copy of a stack to the addresses of the calls that led there.

use super::elf::Elf;
use framehop::{
    CacheNative, MayAllocateDuringUnwind, Module, UnwindRegsNative, Unwinder, UnwinderNative,
};
use manyhands_wire::{Mapping, RawCopy, Registers};
use std::collections::HashMap;
use std::sync::Arc;

/// Follows calls through the code of one program.
pub(super) struct Calls {
    unwinder: UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
}

/// The calls of a stack.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Followed {
    /// An address in each function, the innermost first: the next instruction, and then those that call.
    pub(super) addresses: Vec<u64>,
    /// The last one was not the thread's first function.
    pub(super) is_cut: bool,
}

impl Calls {
    /// Of a program whose code lies there, with what is known of the files that it comes from.
    pub(super) fn new<'code>(code: impl IntoIterator<Item = (&'code Mapping, &'code Elf)>) -> Self {
        let mut unwinder = UnwinderNative::new();
        let modules = code
            .into_iter()
            .filter_map(|(mapping, elf)| elf.module(mapping));
        modules.for_each(|module: Module<Arc<[u8]>>| unwinder.add_module(module));
        Self {
            unwinder,
            cache: CacheNative::new(),
        }
    }

    pub(super) fn follow(&mut self, stack: &RawCopy) -> Followed {
        let Some(registers) = &stack.registers else {
            return Followed::default();
        };
        let words: HashMap<u64, u64> = stack.words.iter().map(|(at, word)| (*at, word.0)).collect();
        let low = registers.stack.0;
        let mut read_stack = |address: u64| {
            let at = address.checked_sub(low).ok_or(())?;
            // What is not an address was not sent, and is not followed.
            let word = words.get(&at).copied().unwrap_or(0);
            if at < stack.length { Ok(word) } else { Err(()) }
        };
        let begin = native(registers);
        let instruction = registers.instruction.0;
        let mut frames =
            self.unwinder
                .iter_frames(instruction, begin, &mut self.cache, &mut read_stack);
        let mut followed = Followed::default();
        loop {
            match frames.next() {
                Ok(Some(_)) if followed.addresses.len() == FRAMES_MAX => {
                    followed.is_cut = true;
                    return followed;
                }
                Ok(Some(frame)) => followed.addresses.push(frame.address_for_lookup()),
                Ok(None) => return followed,
                Err(_) => {
                    followed.is_cut = true;
                    return followed;
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn native(registers: &Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(
        registers.instruction.0,
        registers.stack.0,
        registers.frame.0,
    )
}

#[cfg(target_arch = "aarch64")]
fn native(registers: &Registers) -> UnwindRegsNative {
    // Above the address a processor may keep a signature of it.
    let addresses = framehop::aarch64::PtrAuthMask::from_max_known_address((1 << 48) - 1);
    let [link, stack, frame] = [registers.link, registers.stack, registers.frame].map(|of| of.0);
    UnwindRegsNative::new_with_ptr_auth_mask(addresses, link, stack, frame)
}

/// More than a copy of 64 KiB has, unless it leads in a circle.
const FRAMES_MAX: usize = 8 << 10;
