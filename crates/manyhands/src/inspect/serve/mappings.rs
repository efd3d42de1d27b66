//! What of this process's memory is code, and which file it comes from, as the system lists it.
//!
//! Not here: what is in the files. Who looks at the program reads them itself.

use manyhands_wire::{Mapping, Number, printable};

/// All code of this process, by rising address. None where the system does not list it.
pub(super) fn read() -> Vec<Mapping> {
    let list = std::fs::read("/proc/self/maps").unwrap_or_default();
    let list = String::from_utf8_lossy(&list);
    list.lines().filter_map(parse).collect()
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

#[cfg(test)]
mod tests {
    use super::{Mapping, Number, parse};

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
}
