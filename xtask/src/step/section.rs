//! What commands write into pages: a section stands between two comments, and a command replaces it.

use anyhow::{Context, Result};

use crate::command::Invocation;
use crate::workspace;

#[path = "../../../crates/manyhands-lab/src/machine/microarchitecture.rs"]
mod microarchitecture;

/// Puts `text` between the comments `begin name` and `end name` of the page, whose path is relative to the root.
pub(in crate::step) fn renew(page: &str, name: &str, text: &str) -> Result<()> {
    let old = workspace::read(page)?;
    let new =
        replaced(&old, name, text).with_context(|| format!("{page} has no section `{name}`"))?;
    workspace::write(page, new)
}

/// The page with this text in the section; `None` if it has none.
pub(crate) fn replaced(page: &str, name: &str, text: &str) -> Option<String> {
    parts(page, name).map(|[before, _, after]| [before, text, after].concat())
}

/// The page before the section's text, that, and the page after it.
pub(crate) fn parts<'page>(page: &'page str, name: &str) -> Option<[&'page str; 3]> {
    let begin = format!("<!-- begin {name} -->\n");
    let (before, rest) = page.split_at(page.find(&begin)? + begin.len());
    let (text, after) = rest.split_at(rest.find(&format!("<!-- end {name} -->"))?);
    Some([before, text, after])
}

/// When and on what something was run, and with which code, as two sentences without the end of the second.
pub(in crate::step) fn conditions() -> String {
    let first_line = |line: &str| {
        let text = Invocation::new(line).stdout().unwrap_or_default();
        text.lines().next().unwrap_or("unknown").trim().to_owned()
    };
    let date = first_line("date -u +%F");
    let compiler = first_line("rustc --version");
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let processor = processor(&workspace::read("/proc/cpuinfo").unwrap_or_default());
    let revision = first_line("git describe --always --abbrev=12 --dirty --exclude=*");
    format!("{date}, {processor}, {cpus} CPUs, {compiler}. Revision: {revision}")
}

/// Model and design, named as the laboratory names them.
fn processor(cpuinfo: &str) -> String {
    let model = microarchitecture::model(cpuinfo);
    let model = model.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let design = microarchitecture::of(cpuinfo).map(|design| format!(", {design}"));
    model + &design.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_and_the_rest_stays() {
        let page = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n";
        let new = replaced(page, "x", "new\n").unwrap();
        assert_eq!(new, "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb\n");
        assert_eq!(replaced(page, "y", ""), None);
    }

    #[test]
    fn the_processor_is_named() {
        let cpuinfo = "processor\t: 0\nmodel name\t: A(R)  B\nmodel name\t: C\n";
        assert_eq!(processor(cpuinfo), "A B");
        assert_eq!(
            processor(&format!("{cpuinfo}CPU part\t: 0xd49\n")),
            "A B, Neoverse N2"
        );
    }
}
