//! Which frames are worth showing: those of the program, not those that carry it.

use super::{Frame, Frames};
use serde::Serialize;
use std::fmt::Write;

/// Whose code a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameKind {
    /// The program's, or that of another library.
    Program,
    /// Manyhands'.
    Manyhands,
    /// That of Rust's standard library, of the C library, or of the system.
    System,
}

/// A line of a stack.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shown<'frames> {
    Frame(&'frames Frame),
    /// This many that are not shown, and of whose code they are.
    Folded(&'frames [Frame]),
}

/// The lines of a stack, the innermost first.
///
/// Of a stack that ends outside of the program's code the frame is shown that the program has called.
pub(super) fn shown(frames: &[Frame], which: Frames) -> Vec<Shown<'_>> {
    if which == Frames::All {
        return frames.iter().map(Shown::Frame).collect();
    }
    let mut lines = Vec::new();
    let mut rest = frames;
    while let Some(first) = rest.first() {
        if first.kind == FrameKind::Program {
            lines.push(Shown::Frame(first));
            rest = &rest[1..];
            continue;
        }
        let is_program = |frame: &Frame| frame.kind == FrameKind::Program;
        let len = rest.iter().position(is_program).unwrap_or(rest.len());
        let (folded, behind) = rest.split_at(len);
        let is_called = lines.is_empty() && !behind.is_empty();
        let inner = if is_called { len - 1 } else { len };
        if inner > 0 {
            lines.push(Shown::Folded(&folded[..inner]));
        }
        if is_called {
            lines.push(Shown::Frame(&folded[inner]));
        }
        rest = behind;
    }
    lines
}

/// `7 frames of manyhands and the system`.
pub(super) fn summary(folded: &[Frame]) -> String {
    let count = folded.len();
    let has = |kind| folded.iter().any(|frame| frame.kind == kind);
    let mut text = match count {
        1 => "1 frame of ".to_owned(),
        _ => format!("{count} frames of "),
    };
    let whose = match (has(FrameKind::Manyhands), has(FrameKind::System)) {
        (true, true) => "manyhands and the system",
        (true, false) => "manyhands",
        (false, _) => "the system",
    };
    let _ = write!(text, "{whose}");
    text
}

/// Whose code a function is, by its path and by the file that it is in.
pub(super) fn kind_of(function: &str, module: &str) -> FrameKind {
    match crate_of(function) {
        Some("manyhands") => FrameKind::Manyhands,
        Some("std" | "core" | "alloc" | "panic_unwind" | "std_detect" | "__rustc") => {
            FrameKind::System
        }
        None if is_system_s(function, module) => FrameKind::System,
        Some(_) | None => FrameKind::Program,
    }
}

/// The crate that the first path in a function's name begins with: that of the type in `<a::B as c::D>::e`.
pub(super) fn crate_of(function: &str) -> Option<&str> {
    let (before, _) = function.split_once("::")?;
    let is_outside = |c: char| !(c.is_alphanumeric() || c == '_');
    // In `<T as a::B>::c` it is the trait's, because a parameter has no crate.
    let begin = before.rfind(is_outside).map_or(0, |at| at + 1);
    Some(&before[begin..]).filter(|name| !name.is_empty())
}

/// Of functions without a path: those of C, and those that the compiler makes.
fn is_system_s(function: &str, module: &str) -> bool {
    let of_compiler = ["main", "_start", "rust_eh_personality", "rust_begin_unwind"];
    let stem = module.split(['.', '-']).next().unwrap_or(module);
    let of_system = ["libc", "ld", "libpthread", "libm", "libgcc_s", "[vdso]"];
    of_compiler.contains(&function)
        || function.starts_with("__rust")
        || of_system.contains(&stem)
        || module.is_empty()
}

#[cfg(test)]
mod tests {
    use super::{FrameKind, Shown, crate_of, kind_of, shown, summary};
    use crate::stacks::{Frame, Frames};

    fn frames(functions: &[&str]) -> Vec<Frame> {
        let frame = |function: &&str| Frame {
            function: (*function).to_owned(),
            file: None,
            line: None,
            module: "office".to_owned(),
            inlined: false,
            kind: kind_of(function, "office"),
        };
        functions.iter().map(frame).collect()
    }

    /// A line for each, with the number of the folded ones.
    fn lines(functions: &[&str], which: Frames) -> Vec<String> {
        let frames = frames(functions);
        let line = |line: Shown<'_>| match line {
            Shown::Frame(frame) => frame.function.clone(),
            Shown::Folded(folded) => folded.len().to_string(),
        };
        shown(&frames, which).into_iter().map(line).collect()
    }

    #[test]
    fn a_function_belongs_to_the_crate_of_its_first_path() {
        for (function, module, kind) in [
            ("office::clerk::work", "office", FrameKind::Program),
            ("manyhands::task::spawn", "office", FrameKind::Manyhands),
            (
                "<manyhands::engine::Loop<F> as core::fmt::Debug>::fmt",
                "office",
                FrameKind::Manyhands,
            ),
            (
                "<office::Clerk as core::future::Future>::poll",
                "office",
                FrameKind::Program,
            ),
            ("<T as office::Work>::begin", "office", FrameKind::Program),
            (
                "<alloc::boxed::Box<F> as core::ops::FnOnce<A>>::call_once",
                "office",
                FrameKind::System,
            ),
            (
                "core::ptr::drop_in_place<office::Clerk>",
                "office",
                FrameKind::System,
            ),
            (
                "<&mut manyhands::query::Query as core::iter::Iterator>::next",
                "office",
                FrameKind::Manyhands,
            ),
            ("manyhands_cli::main", "office", FrameKind::Program),
            ("__rustc::rust_panic", "office", FrameKind::System),
            ("main", "office", FrameKind::System),
            ("__rust_try", "office", FrameKind::System),
            ("start_thread", "libc.so.6", FrameKind::System),
            ("0x1234", "ld-linux-x86-64.so.2", FrameKind::System),
            ("0x1234", "[vdso]", FrameKind::System),
            ("sqlite3_step", "libsqlite3.so.0", FrameKind::Program),
            ("0x1234", "office", FrameKind::Program),
        ] {
            assert_eq!(kind_of(function, module), kind, "{function}");
        }
        assert_eq!(crate_of("::x"), None);
    }

    #[test]
    fn frames_that_carry_the_program_are_folded_and_what_it_calls_last_is_shown() {
        let stack = [
            "syscall::x",
            "core::a",
            "std::thread::sleep",
            "office::file",
            "core::ops::call",
            "manyhands::join",
            "office::main",
            "std::rt::lang_start",
        ];
        assert_eq!(
            lines(&stack[1..], Frames::OfProgram),
            [
                "1",
                "std::thread::sleep",
                "office::file",
                "2",
                "office::main",
                "1"
            ]
        );
        assert_eq!(
            lines(&stack[2..], Frames::OfProgram)[..2],
            ["std::thread::sleep", "office::file"]
        );
        assert_eq!(lines(&stack, Frames::All), stack);
        assert_eq!(lines(&stack[3..4], Frames::OfProgram), ["office::file"]);
    }

    #[test]
    fn a_stack_without_the_program_is_one_folded_line() {
        let idle = [
            "std::sys::futex",
            "manyhands::runtime::sleep",
            "std::thread",
        ];
        assert_eq!(lines(&idle, Frames::OfProgram), ["3"]);
        assert_eq!(lines(&[], Frames::OfProgram), [""; 0]);
        assert_eq!(
            summary(&frames(&idle)),
            "3 frames of manyhands and the system"
        );
        assert_eq!(summary(&frames(&idle[..1])), "1 frame of the system");
    }
}
