//! The processor's design, by the numbers that it gives itself: model names of cloud machines often do not say it.
//!
//! `xtask` has this file, too, so that the pages that it writes call a processor by the same name.

/// The name of the design, or the numbers if they have none here; `None` if the system gives none.
pub(super) fn of(cpuinfo: &str) -> Option<String> {
    let number = |name: &str| field(cpuinfo, name)?.parse::<u32>().ok();
    if let Some(part) = field(cpuinfo, "CPU part") {
        return Some(named(of_arm(part), || format!("part {part}")));
    }
    let (family, model) = (number("cpu family")?, number("model")?);
    let name = match field(cpuinfo, "vendor_id")? {
        "AuthenticAMD" => of_amd(family, model),
        "GenuineIntel" if family == 6 => of_intel(model, number("stepping")?),
        _ => None,
    };
    Some(named(name, || format!("family {family} model {model}")))
}

/// The model's name, without trademark signs and repeated spaces; `None` if the system gives none.
pub(super) fn model(cpuinfo: &str) -> Option<String> {
    let plain = field(cpuinfo, "model name")?;
    let plain = plain.replace("(R)", "").replace("(TM)", "");
    Some(plain.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// What the system says first under this name.
pub(super) fn field<'text>(cpuinfo: &'text str, name: &str) -> Option<&'text str> {
    cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

fn named(name: Option<&str>, numbers: impl FnOnce() -> String) -> String {
    name.map_or_else(numbers, str::to_owned)
}

/// Of family 6, which all of them have; the stepping separates those that share a model.
fn of_intel(model: u32, stepping: u32) -> Option<&'static str> {
    Some(match model {
        60 | 63 | 69 | 70 => "Haswell",
        61 | 71 | 79 | 86 => "Broadwell",
        85 if stepping >= 10 => "Cooper Lake",
        85 if stepping >= 5 => "Cascade Lake",
        78 | 85 | 94 => "Skylake",
        106 | 108 | 125 | 126 => "Ice Lake",
        140 | 141 => "Tiger Lake",
        151 | 154 => "Alder Lake",
        183 | 186 | 191 => "Raptor Lake",
        143 => "Sapphire Rapids",
        207 => "Emerald Rapids",
        173 | 174 => "Granite Rapids",
        175 => "Sierra Forest",
        _ => return None,
    })
}

fn of_amd(family: u32, model: u32) -> Option<&'static str> {
    Some(match (family, model) {
        (0x17, 0x00..0x30) => "Zen",
        (0x17, _) => "Zen 2",
        (0x19, 0x10..0x20 | 0x60..0xb0) => "Zen 4",
        (0x19, _) => "Zen 3",
        (0x1a, _) => "Zen 5",
        _ => return None,
    })
}

fn of_arm(part: &str) -> Option<&'static str> {
    Some(match part {
        "0xd0c" => "Neoverse N1",
        "0xd40" => "Neoverse V1",
        "0xd49" => "Neoverse N2",
        "0xd4f" => "Neoverse V2",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::of;

    fn x86(vendor: &str, family: u32, model: u32, stepping: u32) -> Option<String> {
        let text = format!(
            "vendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\n\
             model name\t: Processor\nstepping\t: {stepping}\n"
        );
        of(&text)
    }

    #[test]
    fn designs_are_known_by_their_numbers() {
        for (vendor, family, model, stepping, name) in [
            ("GenuineIntel", 6, 207, 2, "Emerald Rapids"),
            ("GenuineIntel", 6, 85, 4, "Skylake"),
            ("GenuineIntel", 6, 85, 7, "Cascade Lake"),
            ("AuthenticAMD", 25, 1, 1, "Zen 3"),
            ("AuthenticAMD", 25, 17, 1, "Zen 4"),
            ("AuthenticAMD", 26, 2, 1, "Zen 5"),
        ] {
            let known = x86(vendor, family, model, stepping);
            assert_eq!(known.as_deref(), Some(name));
        }
        assert_eq!(of("CPU part\t: 0xd49\n").as_deref(), Some("Neoverse N2"));
    }

    #[test]
    fn numbers_without_a_name_still_separate_two_kinds() {
        let unknown = x86("GenuineIntel", 6, 999, 0);
        assert_eq!(unknown.as_deref(), Some("family 6 model 999"));
        assert_eq!(of("CPU part\t: 0x1\n").as_deref(), Some("part 0x1"));
    }

    #[test]
    fn a_system_that_gives_no_numbers_has_none() {
        assert_eq!(of(""), None);
        assert_eq!(of("vendor_id\t: GenuineIntel\n"), None);
    }
}
