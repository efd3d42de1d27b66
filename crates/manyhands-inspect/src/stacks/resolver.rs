//! From addresses to functions and lines, by the files that a program has loaded.

use super::elf::Elf;
use super::folding::kind_of;
use super::opening::{Allowed, path_of};
use super::record::{RawPolledTask, RawStacks};
use super::task::{LeafStack, PolledTask};
use super::unwind::Calls;
use super::{Frame, Stacks, ThreadStack};
use blazesym::symbolize::source::{Elf as ElfSource, Source};
use blazesym::symbolize::{CodeInfo, Input, Sym, Symbolized, Symbolizer};
use manyhands_wire::{Code, Mapping, RawCopy, RawStack, escaped};
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::sync::Arc;

/// Follows calls and finds their names. Keeps what it has read, so the first stacks cost the most: some tenths of a second.
///
/// A program without tables of lines has frames without lines, one without symbols has addresses in place of names. Of another
/// user's program, which only root sees, only the files are opened that the system says it has loaded; its lines are not
/// known, because tables of lines may name other files.
pub struct Resolver {
    symbolizer: Symbolizer,
    files: HashMap<String, Option<Opened>>,
    /// The functions at a place in a file, the innermost first.
    names: HashMap<(String, u64), Vec<Frame>>,
}

/// A file with code.
struct Opened {
    /// Kept open where another user could put something else in its place.
    kept: Option<File>,
    elf: Option<Arc<Elf>>,
}

impl Resolver {
    /// One that knows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            symbolizer: Symbolizer::new(),
            files: HashMap::new(),
            names: HashMap::new(),
        }
    }

    /// The functions of all threads. Stacks of a program for another processor are not followed.
    #[must_use]
    pub fn resolve(&mut self, raw: &RawStacks) -> Stacks {
        let copies = raw.threads.iter().map(|stack| &stack.copy);
        let followed = self.follow(&raw.code, raw.foreign, copies);
        let threads = raw.threads.iter().zip(followed);
        let threads = threads
            .map(|(stack, (frames, is_cut))| thread(stack, frames, is_cut || stack.copy.cut));
        Stacks {
            threads: threads.collect(),
        }
    }

    /// The functions through which a task came to each of its waits.
    #[must_use]
    pub fn resolve_task(&mut self, raw: &RawPolledTask) -> PolledTask {
        let copies = raw.leaves.iter().map(|leaf| &leaf.copy);
        let followed = self.follow(&raw.code, raw.foreign, copies);
        let leaves = raw.leaves.iter().zip(followed);
        let leaves = leaves.map(|(leaf, (frames, is_cut))| LeafStack {
            wait: leaf.wait,
            missing: leaf.copy.missing.clone(),
            frames,
            cut: is_cut || leaf.copy.cut,
        });
        PolledTask {
            task: raw.task.clone(),
            leaves: leaves.collect(),
        }
    }

    /// The functions of each copy, and whether there are more that could not be found.
    fn follow<'raw>(
        &mut self,
        code: &Code,
        foreign: Option<u32>,
        copies: impl Iterator<Item = &'raw RawCopy>,
    ) -> Vec<(Vec<Frame>, bool)> {
        let is_native = code.architecture == std::env::consts::ARCH;
        let allowed = Allowed::of(foreign);
        let code = &code.mappings;
        let files: Vec<_> = code
            .iter()
            .map(|mapping| self.file(&mapping.path, &allowed))
            .collect();
        let known = code.iter().zip(&files);
        let known = known.filter_map(|(mapping, elf)| Some((mapping, elf.as_deref()?)));
        let mut calls = is_native.then(|| Calls::new(known));
        let functions = copies.map(|copy| {
            let followed = match &mut calls {
                Some(calls) => calls.follow(copy),
                None => super::unwind::Followed::default(),
            };
            let addresses = followed.addresses.iter();
            let frames = addresses.flat_map(|address| self.frames(*address, code));
            (frames.collect(), followed.is_cut)
        });
        functions.collect()
    }

    fn file(&mut self, path: &str, allowed: &Allowed) -> Option<Arc<Elf>> {
        let read = || match path {
            "[vdso]" => Some(Opened {
                kept: None,
                elf: Elf::of_system().map(Arc::new),
            }),
            _ => {
                let file = allowed.open(path)?;
                let elf = Elf::read(&file).map(Arc::new);
                let kept = matches!(allowed, Allowed::Mapped(_)).then_some(file);
                Some(Opened { kept, elf })
            }
        };
        let opened = self.files.entry(path.to_owned()).or_insert_with(read);
        opened.as_ref()?.elf.clone()
    }

    /// The function at an address, and those that were inlined into it before, the innermost first.
    fn frames(&mut self, address: u64, code: &[Mapping]) -> Vec<Frame> {
        let holds = |mapping: &&Mapping| (mapping.start.0..mapping.end.0).contains(&address);
        let Some(mapping) = code.iter().find(holds) else {
            return vec![nameless(address, "")];
        };
        let offset = (address - mapping.start.0).wrapping_add(mapping.offset.0);
        let key = (mapping.path.clone(), offset);
        if let Some(known) = self.names.get(&key) {
            return known.clone();
        }
        let module = mapping.path.rsplit('/').next().unwrap_or(&mapping.path);
        let found = mapping.path.starts_with('/').then(|| {
            let linked = self.linked(&mapping.path, offset);
            // A debugger's tables may call a function `run` that a linker's call `module::Type::run`.
            let name = linked.as_ref().map(|linked| linked.name.clone());
            // A system's library may name a file for debuggers that is not there, or is no such file.
            let symbol = self.symbol(&mapping.path, Input::FileOffset(offset), Tables::Debugger);
            let symbol = symbol.or(linked)?;
            let name = name.unwrap_or(symbol.name.clone());
            (!is_mark(&name)).then(|| named(&symbol, &name, module))
        });
        let frames = found
            .flatten()
            .unwrap_or_else(|| vec![nameless(offset, module)]);
        self.names.insert(key, frames.clone());
        frames
    }

    /// The function of a linker's table at a place in a file.
    ///
    /// What is looked up is the last symbol that begins at the place or before, and that may be a mark within the function.
    /// Objects for aarch64 have marks in the sections for debuggers too. These have no addresses, so the linker gives their
    /// marks' offsets in place of them, and an offset may equal an address of code.
    fn linked(&self, path: &str, offset: u64) -> Option<Sym<'_>> {
        let mut symbol = self.symbol(path, Input::FileOffset(offset), Tables::Linker)?;
        let address = symbol.addr.wrapping_add(symbol.offset as u64);
        // Comes to an end: each mark that is found begins before the last.
        while is_mark(&symbol.name) {
            let before = symbol.addr.checked_sub(1)?;
            symbol = self.symbol(path, Input::VirtOffset(before), Tables::Linker)?;
        }
        let holds = |size| address.wrapping_sub(symbol.addr) < size as u64;
        symbol.size.is_none_or(holds).then_some(symbol)
    }

    /// What is known of a place in a file.
    fn symbol(&self, path: &str, place: Input<u64>, tables: Tables) -> Option<Sym<'_>> {
        let opened = self.files.get(path)?.as_ref()?;
        let mut file = match &opened.kept {
            Some(kept) => ElfSource::new(path_of(kept)),
            None => ElfSource::new(path),
        };
        // Those for debuggers name other files.
        file.debug_syms = tables == Tables::Debugger && opened.kept.is_none();
        let source = Source::Elf(file);
        match self.symbolizer.symbolize_single(&source, place) {
            Ok(Symbolized::Sym(symbol)) => Some(symbol),
            _ => None,
        }
    }
}

impl Default for Resolver {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Resolver");
        debug.field("files", &self.files.len());
        debug
            .field("names", &self.names.len())
            .finish_non_exhaustive()
    }
}

fn thread(stack: &RawStack, frames: Vec<Frame>, cut: bool) -> ThreadStack {
    ThreadStack {
        runtime: stack.runtime,
        worker: stack.worker,
        thread: stack.thread,
        name: stack.name.clone(),
        state: stack.state.clone(),
        task_spawned_at: stack.task_spawned_at.clone(),
        missing: stack.copy.missing.clone(),
        frames,
        cut,
    }
}

/// Whether this is the name of no function but of a mark: a linker's table for aarch64 has `$x` where code begins, and `$d`
/// where data does, in sections of all kinds.
fn is_mark(name: &str) -> bool {
    let mark = name.split_once('.').map_or(name, |(mark, _)| mark);
    matches!(mark, "$x" | "$d")
}

/// An address without a name.
fn nameless(address: u64, module: &str) -> Frame {
    frame(&format!("0x{address:x}"), None, module, false)
}

/// Where a file says what its functions are called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tables {
    /// With lines and what was inlined, if it has them; the linker's if not.
    Debugger,
    Linker,
}

/// The symbol of this name with what was inlined into it.
fn named(symbol: &Sym<'_>, name: &str, module: &str) -> Vec<Frame> {
    let inlined = symbol.inlined.iter().rev();
    let mut frames: Vec<Frame> = inlined
        .map(|inner| frame(&inner.name, inner.code_info.as_ref(), module, true))
        .collect();
    frames.push(frame(name, symbol.code_info.as_deref(), module, false));
    frames
}

fn frame(symbol: &str, code: Option<&CodeInfo<'_>>, module: &str, inlined: bool) -> Frame {
    // Without the hash at its end.
    let function = format!("{:#}", rustc_demangle::demangle(symbol));
    let kind = kind_of(&function, module);
    // These names do not come from the program, which escapes its own, but from files.
    Frame {
        function: escaped(&function),
        file: code.map(|code| escaped(&code.to_path().to_string_lossy())),
        line: code.and_then(|code| code.line),
        module: module.to_owned(),
        inlined,
        kind,
    }
}

#[cfg(test)]
mod tests {
    use super::{Resolver, is_mark};
    use crate::stacks::record::RawStacks;
    use crate::stacks::{Frame, FrameKind, ThreadStack};
    use manyhands_wire::{Code, Mapping, Number, RawCopy, RawStack, Registers};

    #[test]
    fn a_mark_of_a_linker_is_no_function() {
        assert!(["$x", "$d", "$x.12", "$d.0"].into_iter().all(is_mark));
        assert!(
            !["main", "$xy", "x", "", "module::$d"]
                .into_iter()
                .any(is_mark)
        );
    }

    #[inline(never)]
    fn known_function(n: usize) -> usize {
        std::hint::black_box(n) + 1
    }

    /// Where this program's code lies that has this address.
    fn own_mapping(address: u64) -> Mapping {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let number = |digits: &str| Number(u64::from_str_radix(digits, 16).unwrap());
        let mapping = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (start, end) = fields[0].split_once('-').unwrap();
            Mapping {
                start: number(start),
                end: number(end),
                offset: number(fields[2]),
                path: fields.get(5).copied().unwrap_or("").to_owned(),
            }
        };
        let holds = |of: &Mapping| (of.start.0..of.end.0).contains(&address);
        maps.lines().map(mapping).find(holds).unwrap()
    }

    /// What is found of a thread that is at this address and has these words on its stack.
    fn resolve(architecture: &str, mapping: Mapping, address: u64, words: &[u64]) -> ThreadStack {
        let stack = 0x7fff_0000;
        let words = (0..).step_by(8).zip(words.iter().map(|word| Number(*word)));
        let words: Vec<_> = words.collect();
        let raw = RawStacks {
            code: Code {
                architecture: architecture.to_owned(),
                mappings: vec![mapping],
            },
            threads: vec![RawStack {
                runtime: 1,
                worker: Some(0),
                thread: 70,
                name: "office".to_owned(),
                state: "running".to_owned(),
                task_spawned_at: None,
                copy: RawCopy {
                    registers: Some(Registers {
                        instruction: Number(address),
                        stack: Number(stack),
                        ..Registers::default()
                    }),
                    length: 8 * words.len() as u64,
                    words,
                    ..RawCopy::default()
                },
            }],
            foreign: None,
        };
        let mut resolver = Resolver::new();
        let first = resolver.resolve(&raw);
        assert_eq!(
            resolver.resolve(&raw),
            first,
            "what is kept is what was found"
        );
        first.threads.into_iter().next().unwrap()
    }

    fn only_frame(thread: &ThreadStack) -> &Frame {
        assert_eq!(thread.frames.len(), 1, "{thread:?}");
        &thread.frames[0]
    }

    #[test]
    fn an_address_in_a_function_has_its_name_and_its_file() {
        assert_eq!(known_function(1), 2);
        let address = known_function as fn(usize) -> usize as usize as u64;
        let mapping = own_mapping(address);
        let thread = resolve(std::env::consts::ARCH, mapping, address, &[]);
        let frame = only_frame(&thread);
        assert!(frame.function.ends_with("::known_function"), "{frame:?}");
        assert!(frame.module.starts_with("manyhands_inspect"), "{frame:?}");
        assert_eq!(frame.kind, FrameKind::Program);
        assert!(thread.cut, "nothing says who called it");
    }

    #[test]
    fn files_without_symbols_and_addresses_without_files_give_addresses_and_no_error() {
        let text = std::env::temp_dir().join(format!("manyhands-no-elf-{}", std::process::id()));
        std::fs::write(&text, "no code").unwrap();
        for path in ["/nonexistent/office", "", "[vdso]", text.to_str().unwrap()] {
            let mapping = Mapping {
                start: Number(0x40_0000),
                end: Number(0x41_0000),
                offset: Number(0x1000),
                path: path.to_owned(),
            };
            let thread = resolve(std::env::consts::ARCH, mapping, 0x40_0010, &[0, 0x40_0020]);
            let frame = &thread.frames[0];
            assert_eq!(frame.function, "0x1010", "{path}");
        }
        std::fs::remove_file(&text).unwrap();
        let nowhere = own_mapping(known_function as fn(usize) -> usize as usize as u64);
        let thread = resolve(std::env::consts::ARCH, nowhere, 0x10, &[]);
        assert_eq!(thread.frames[0].function, "0x10");
    }

    /// A program of these functions and marks, by the addresses where they begin, and their sizes.
    fn program(symbols: &[(&str, u64, u64)]) -> Vec<u8> {
        const FUNCTION: u64 = 2;
        const TEXT: u64 = 1;
        let words = |values: &[(u64, usize)]| -> Vec<u8> {
            let bytes = values
                .iter()
                .map(|(value, size)| value.to_le_bytes()[..*size].to_vec());
            bytes.collect::<Vec<_>>().concat()
        };
        let mut names = vec![0];
        let mut table = vec![0; 24];
        for (name, address, size) in symbols {
            let kind = if *size == 0 { 0 } else { FUNCTION };
            let symbol = [(names.len() as u64, 4), (kind, 1), (0, 1), (TEXT, 2)];
            table.extend(words(&symbol));
            table.extend(words(&[(*address, 8), (*size, 8)]));
            names.extend(name.bytes().chain([0]));
        }
        let sections_named = [".text", ".symtab", ".strtab"].map(|name| {
            let start = names.len() as u64;
            names.extend(name.bytes().chain([0]));
            start
        });
        names.resize(names.len().next_multiple_of(8), 0);
        let (code, code_len) = (0x100_u64, 0x1000_u64);
        let (table_start, table_len) = (code + code_len, table.len() as u64);
        let names_start = table_start + table_len;
        let sections_start = names_start + names.len() as u64;
        // Name, kind, flags; address, offset, size; the section with its names, and its first global symbol; alignment
        // and size of an entry.
        let section = |[name, kind, flags]: [u64; 3], place: [u64; 3], link: u64, entry: u64| {
            let [address, offset, size] = place;
            let head = [(name, 4), (kind, 4), (flags, 8)];
            let rest = [(address, 8), (offset, 8), (size, 8), (link, 4), (0, 4)];
            [words(&head), words(&rest), words(&[(8, 8), (entry, 8)])].concat()
        };
        let [text, symtab, strtab] = sections_named;
        let sections = [
            vec![0; 64],
            section([text, 1, 6], [code, code, code_len], 0, 0),
            section([symtab, 2, 0], [0, table_start, table_len], 3, 24),
            section([strtab, 3, 0], [0, names_start, names.len() as u64], 0, 0),
        ];
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        // A shared library for aarch64, and where the tables of its one segment and of its sections lie.
        file.extend(words(&[(3, 2), (183, 2), (1, 4), (0, 8), (64, 8)]));
        file.extend(words(&[(sections_start, 8), (0, 4), (64, 2)]));
        file.extend(words(&[(56, 2), (1, 2), (64, 2), (4, 2), (3, 2)]));
        // A segment that is loaded, and may be read and executed.
        file.extend(words(&[(1, 4), (5, 4), (0, 8), (0, 8), (0, 8)]));
        file.extend(words(&[(table_start, 8), (table_start, 8), (4096, 8)]));
        file.resize(usize::try_from(table_start).unwrap(), 0);
        [file, table, names, sections.concat()].concat()
    }

    #[test]
    fn a_function_is_found_past_the_marks_that_lie_in_it() {
        let file = program(&[
            ("$d", 0x1f0, 0),
            ("$x", 0x200, 0),
            ("office::open", 0x200, 0x40),
            ("$d", 0x210, 0),
            ("$d.7", 0x210, 0),
            ("$x", 0x238, 0),
            ("office::close", 0x260, 0x20),
        ]);
        let path = std::env::temp_dir().join(format!("manyhands-marks-{}", std::process::id()));
        std::fs::write(&path, file).unwrap();
        for (offset, function) in [
            (0x1f8, "0x1f8"),
            (0x200, "office::open"),
            (0x20c, "office::open"),
            (0x210, "office::open"),
            (0x23c, "office::open"),
            (0x240, "0x240"),
            (0x260, "office::close"),
        ] {
            let mapping = Mapping {
                start: Number(0x40_0000),
                end: Number(0x41_0000),
                offset: Number(0),
                path: path.to_str().unwrap().to_owned(),
            };
            let thread = resolve(std::env::consts::ARCH, mapping, 0x40_0000 + offset, &[]);
            assert_eq!(thread.frames[0].function, function, "{offset:#x}");
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_stack_of_another_processor_is_not_followed() {
        let address = known_function as fn(usize) -> usize as usize as u64;
        let thread = resolve("pdp11", own_mapping(address), address, &[]);
        assert!(thread.frames.is_empty());
    }

    #[test]
    fn what_a_terminal_would_obey_in_a_name_is_escaped() {
        for (symbol, function) in [
            ("a\x1b[2J\u{202e}b", "a\\u{1b}[2J\\u{202e}b"),
            ("<Zoë as T>::f", "<Zoë as T>::f"),
        ] {
            assert_eq!(super::frame(symbol, None, "", false).function, function);
        }
    }
}
