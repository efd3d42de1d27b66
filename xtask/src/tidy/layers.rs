//! Rule: the library's modules are layers, and a file names only its own and lower ones.

use super::finding::Finding;
use super::paths::paths_from;
use super::tree::{LIBRARY, Tree};

/// Low to high. A new module gets its place here first.
const LAYERS: &str = "\
sync integrations::tracing_events probe call_site priority recording queue job timer integrations::tokio_driver
first_runtime runtime task integrations::futures_spawner cancel channel time integrations::hyper_runtime simulation
engine parallel query inspect diagnostics";

/// Its modules are layers of their own: each stands where what it ties together needs it.
const SPLIT: &str = "integrations";

/// The root re-exports from everywhere, models set whole protocols going, and what is explored is the whole, as where
/// writes are counted. The first runtime opens `inspect` if the environment asks for it: the one call upwards.
const EXEMPT: &str = "lib first_runtime models explore line_writers";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.library() {
        let inside = path.strip_prefix(LIBRARY).unwrap_or(path);
        let inside = inside.trim_end_matches("/mod.rs").trim_end_matches(".rs");
        let (first, second) = inside.split_once('/').unwrap_or((inside, ""));
        let own = layer(first, second.split('/').next().unwrap_or_default());
        if own == SPLIT || EXEMPT.split(' ').any(|exempt| exempt == own) {
            continue;
        }
        let Some(height) = height(&own) else {
            let message = format!("module `{own}` has no place among the layers of `xtask tidy`");
            findings.push(Finding::in_file(path, message));
            continue;
        };
        for named in paths_from(&source.shipped_code(), "crate") {
            let message = wrong(&layer(named.part(1), named.part(2)), &own, height);
            findings.extend(message.map(|text| Finding::on_line(path, named.line_number, text)));
        }
        let is_top = second.is_empty();
        let climbs =
            |code: &str| code.contains("super::super") || (is_top && code.contains("super::"));
        for line in source.shipped().filter(|line| climbs(&line.code)) {
            let message = "`super` may reach the crate's root; write `crate::`";
            findings.push(Finding::on_line(path, line.number, message));
        }
    }
    findings
}

/// The layer's name, as it follows `crate::`; a file that joins the modules of [`SPLIT`] has that name.
fn layer(first: &str, second: &str) -> String {
    match first == SPLIT && !second.is_empty() {
        true => format!("{first}::{second}"),
        false => first.to_owned(),
    }
}

fn height(module: &str) -> Option<usize> {
    let mut layers = LAYERS.split_whitespace();
    layers.position(|layer| layer == module)
}

/// Why a layer of this height may not name another one.
fn wrong(name: &str, own: &str, own_height: usize) -> Option<String> {
    match height(name) {
        Some(other) if other <= own_height => None,
        Some(_) => Some(format!("layer `{own}` must not know `crate::{name}`")),
        None => Some(format!(
            "`crate::{name}` is no layer; name the module it lives in"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(inside: &str, text: &str) -> Vec<String> {
        let found = check(&Tree::of_library_file(inside, text));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_path_that_goes_up_or_round_is_found_in_every_form() {
        for (inside, text) in [
            ("queue/deque.rs", "use crate::runtime::Runtime;"),
            ("queue/deque.rs", "use crate::{sync::A, runtime::Runtime};"),
            ("queue/deque.rs", "fn f() { crate::runtime::start() }"),
            (
                "queue/deque.rs",
                "use crate::{\n    sync::A,\n    parallel,\n};",
            ),
            // What the root exports again is no layer, and each integration is one of its own.
            ("task/mod.rs", "use crate::Runtime;"),
            ("task/mod.rs", "use crate::*;"),
            ("helpers.rs", ""),
            ("runtime/a.rs", "use crate::integrations::hyper_runtime::A;"),
            ("integrations/tokio_driver/a.rs", "use crate::task::A;"),
            ("queue/mod.rs", "use super::runtime::A;"),
            ("queue/deque.rs", "use super::super::runtime::A;"),
        ] {
            assert_eq!(findings(inside, text).len(), 1, "{inside}: {text}");
        }
        let found = findings("job.rs", "//! Jobs.\nuse crate::{\n    task,\n};\n");
        let expected = "crates/manyhands/src/job.rs:3: layer `job` must not know `crate::task`";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn downward_own_test_and_exempt_uses_pass() {
        for (inside, text) in [
            ("queue/deque.rs", "use crate::queue::A; use crate::sync::B;"),
            (
                "queue/deque.rs",
                "#[cfg(test)]\nmod tests { use crate::runtime::A; }",
            ),
            ("queue/deque.rs", "/// See `crate::runtime::A`.\nfn f() {}"),
            ("queue/deque.rs", "use super::Owner;"),
            ("lib.rs", "pub use crate::runtime::A;"),
            ("models/idle.rs", "use crate::runtime::A;"),
            ("runtime/a.rs", "use crate::integrations::tracing_events;"),
            ("integrations/hyper_runtime.rs", "use crate::task::A;"),
            ("integrations/mod.rs", "pub use crate::task::A;"),
        ] {
            assert!(findings(inside, text).is_empty(), "{inside}: {text}");
        }
    }
}
