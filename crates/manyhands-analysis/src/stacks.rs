//! What of a process's memory is code, and what of a stack is passed on: addresses, and nothing else.
//!
//! Not here: what is in the files that code comes from. Who looks at the program reads them itself.

use manyhands_wire::{Mapping, Number, printable};

/// All code of a process, by rising address: from the list of Linux at `/proc/self/maps`.
#[must_use]
pub fn mappings(list: &str) -> Vec<Mapping> {
    list.lines().filter_map(parse).collect()
}

/// The words of a stack that are addresses of code or of the stack, each with its distance in bytes from the stack pointer,
/// which is `low`.
#[must_use]
pub fn addresses(low: u64, words: &[u64], code: &[Mapping]) -> Vec<(u64, Number)> {
    let high = low + 8 * words.len() as u64;
    let is_address = |word: u64| {
        let address = word & ADDRESS_BITS;
        let of_code = || {
            let before = code.partition_point(|mapping| mapping.start.0 <= address);
            let mapping = before.checked_sub(1).map(|last| &code[last]);
            // Also the address behind its last instruction, where a call returns that never does.
            mapping.is_some_and(|mapping| address <= mapping.end.0)
        };
        (low..=high).contains(&address) || of_code()
    };
    let words = (0..).step_by(8).zip(words);
    let addresses = words.filter(|(_, word)| is_address(**word));
    addresses.map(|(at, word)| (at, Number(*word))).collect()
}

/// Reads a line such as `7f00a000-7f00b000 r-xp 00002000 08:01 1234    /usr/lib/libc.so.6`.
fn parse(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (range, permissions) = (fields.next()?, fields.next()?);
    let offset = fields.next()?;
    // Behind the device and the node.
    let path = fields.nth(2).unwrap_or_default().trim_start();
    if !permissions.contains('x') {
        return None;
    }
    let number = |digits: &str| u64::from_str_radix(digits, 16).map(Number).ok();
    let (start, end) = range.split_once('-')?;
    Some(Mapping {
        start: number(start)?,
        end: number(end)?,
        offset: number(offset)?,
        path: printable(path),
    })
}

/// What is an address in a word: a processor may keep a signature of a return address in the bits above.
const ADDRESS_BITS: u64 = (1 << 48) - 1;

#[cfg(test)]
mod tests {
    use super::{Mapping, Number, addresses, parse};

    #[test]
    fn lines_of_code_are_read_and_others_are_left_out() {
        let mapping = |path: &str| Mapping {
            start: Number(0x7f00_a000),
            end: Number(0x7f00_b000),
            offset: Number(0x2000),
            path: path.to_owned(),
        };
        for (line, read) in [
            (
                "7f00a000-7f00b000 r-xp 00002000 08:01 1234      /usr/lib/a library.so (deleted)",
                Some(mapping("/usr/lib/a library.so (deleted)")),
            ),
            (
                "7f00a000-7f00b000 r-xp 00002000 00:00 0         [vdso]",
                Some(mapping("[vdso]")),
            ),
            ("7f00a000-7f00b000 rwxp 00002000 00:00 0", Some(mapping(""))),
            ("7f00a000-7f00b000 rw-p 00002000 00:00 0 [heap]", None),
            ("7f00a000 r-xp 00002000 00:00 0", None),
            ("", None),
        ] {
            assert_eq!(parse(line), read, "{line}");
        }
    }

    #[test]
    fn of_a_stack_only_addresses_of_code_and_of_the_stack_are_passed_on() {
        let code =
            [(0x40_0000, 0x41_0000), (0x7000_0000, 0x7001_0000)].map(|(start, end)| Mapping {
                start: Number(start),
                end: Number(end),
                ..Mapping::default()
            });
        // A secret, a return address, the frame above, one with a signature, one behind a last call, and others.
        let words = [
            0x6472_6f77_7373_6170,
            0x40_0123,
            0x9000_0028,
            0x00ab_0000_7000_0004,
            0x41_0000,
            0x3f_ffff,
            0x41_0001,
            0x8fff_ffff,
            0,
        ];
        let kept = addresses(0x9000_0000, &words, &code);
        let kept: Vec<u64> = kept.iter().map(|(at, _)| *at).collect();
        assert_eq!(kept, [8, 16, 24, 32]);
    }
}
