//! What decides the clock rate: governor, turbo, mains or battery.

use super::files::Files;
use serde::{Deserialize, Serialize};

/// Power settings as found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Power {
    /// Frequency governor of the first CPU.
    pub governor: Option<String>,
    /// Whether cores may run faster than their base rate for a while.
    pub turbo: Option<bool>,
    /// Whether a battery feeds the machine at the moment.
    pub on_battery: Option<bool>,
}

impl Power {
    pub(super) fn read(files: &impl Files) -> Self {
        let cpus = "/sys/devices/system/cpu";
        let no_turbo = files.number(&format!("{cpus}/intel_pstate/no_turbo"));
        let boost = files.number(&format!("{cpus}/cpufreq/boost"));
        Self {
            governor: files.text(&format!("{cpus}/cpu0/cpufreq/scaling_governor")),
            turbo: no_turbo.map(|off| off == 0).or(boost.map(|on| on == 1)),
            on_battery: on_battery(files),
        }
    }

    pub(super) fn line(&self) -> Option<String> {
        let either = |is, yes: &str, no: &str| Some(if is { yes } else { no }.to_owned());
        super::join([
            self.governor
                .as_ref()
                .map(|name| format!("governor {name}")),
            self.turbo
                .and_then(|on| either(on, "turbo on", "turbo off")),
            self.on_battery
                .and_then(|on| either(on, "on battery", "not on battery")),
        ])
    }
}

/// Batteries of mice and keyboards say that they feed a device and do not count.
fn on_battery(files: &impl Files) -> Option<bool> {
    const SUPPLIES: &str = "/sys/class/power_supply";
    let is = |name: &str, file: &str, value: &str| {
        files.text(&format!("{SUPPLIES}/{name}/{file}")).as_deref() == Some(value)
    };
    let discharging = |name: &String| {
        is(name, "type", "Battery")
            && !is(name, "scope", "Device")
            && is(name, "status", "Discharging")
    };
    Some(files.names(SUPPLIES)?.iter().any(discharging))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::files::recorded::Recorded;

    #[test]
    fn a_laptop_that_discharges_is_on_battery() {
        let power = Power::read(&Recorded(
            "
/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor powersave
/sys/devices/system/cpu/intel_pstate/no_turbo 0
/sys/class/power_supply/AC/type Mains
/sys/class/power_supply/AC/online 0
/sys/class/power_supply/BAT0/type Battery
/sys/class/power_supply/BAT0/status Discharging
",
        ));
        assert_eq!(power.on_battery, Some(true));
        let line = power.line().unwrap();
        assert_eq!(line, "governor powersave, turbo on, on battery");
    }

    #[test]
    fn a_charging_laptop_with_an_old_mouse_is_not() {
        let power = Power::read(&Recorded(
            "
/sys/devices/system/cpu/cpufreq/boost 0
/sys/class/power_supply/BAT0/type Battery
/sys/class/power_supply/BAT0/status Charging
/sys/class/power_supply/mouse/type Battery
/sys/class/power_supply/mouse/scope Device
/sys/class/power_supply/mouse/status Discharging
",
        ));
        assert_eq!(power.line().unwrap(), "turbo off, not on battery");
    }

    #[test]
    fn a_silent_system_says_nothing() {
        let power = Power::read(&Recorded(""));
        assert_eq!(power, Power::default());
        assert_eq!(power.line(), None);
    }
}
