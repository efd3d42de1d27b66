//! What the machine is and how its kernel is set up.

use super::files::Files;
use serde::{Deserialize, Serialize};

/// The machine behind the processor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// Whether a hypervisor runs it; known on x86.
    pub virtual_machine: Option<bool>,
    /// Vendor and product, which for a machine in the cloud are its provider and type.
    pub model: Option<String>,
    /// Transparent huge pages: "always", "madvise" or "never".
    pub huge_pages: Option<String>,
}

impl Host {
    pub(super) fn read(files: &impl Files, cpu_flags: Option<&str>) -> Self {
        // Arm has a list of features too, and no sign in it.
        let x86_flags = cpu_flags.filter(|flags| has_word(flags, "fpu"));
        let part = |name: &str| files.text(&format!("/sys/class/dmi/id/{name}"));
        let parts = [part("sys_vendor"), part("product_name")];
        let model: Vec<String> = parts.into_iter().flatten().collect();
        let pages = files.text("/sys/kernel/mm/transparent_hugepage/enabled");
        Self {
            virtual_machine: x86_flags.map(|flags| has_word(flags, "hypervisor")),
            model: (!model.is_empty()).then(|| model.join(" ")),
            huge_pages: pages.as_deref().and_then(chosen).map(str::to_owned),
        }
    }

    pub(super) fn line(&self) -> Option<String> {
        let kind = self.virtual_machine.map(|is_virtual| {
            let kind = if is_virtual {
                "virtual machine"
            } else {
                "no hypervisor"
            };
            kind.to_owned()
        });
        let pages = self.huge_pages.as_ref();
        let pages = pages.map(|mode| format!("transparent huge pages {mode}"));
        super::join([kind, self.model.clone(), pages])
    }
}

pub(super) fn has_word(text: &str, word: &str) -> bool {
    text.split_whitespace().any(|each| each == word)
}

/// `always [madvise] never`: the one in brackets.
fn chosen(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(mode, _)| mode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::files::recorded::Recorded;

    #[test]
    fn a_machine_in_the_cloud_names_its_type() {
        let files = Recorded(
            "
/sys/class/dmi/id/sys_vendor Amazon EC2
/sys/class/dmi/id/product_name c7i.xlarge
/sys/kernel/mm/transparent_hugepage/enabled always [madvise] never
",
        );
        let host = Host::read(&files, Some("fpu vme hypervisor"));
        let line = host.line().unwrap();
        let expected = "virtual machine, Amazon EC2 c7i.xlarge, transparent huge pages madvise";
        assert_eq!(line, expected);
    }

    #[test]
    fn only_x86_tells_about_a_hypervisor() {
        let virtual_machine = |flags| Host::read(&Recorded(""), flags).virtual_machine;
        assert_eq!(virtual_machine(Some("fpu vme")), Some(false));
        assert_eq!(virtual_machine(Some("fp asimd sha2")), None);
        assert_eq!(virtual_machine(None), None);
    }

    #[test]
    fn text_without_a_choice_is_none() {
        for text in ["", "always", "[always", "always] ["] {
            assert_eq!(chosen(text), None, "{text:?}");
        }
    }
}
