//! The library's stress test under ThreadSanitizer and AddressSanitizer. Needs a nightly
//! toolchain, so it is not part of `ci`. The test sees `cfg(sanitized)` and does less; `sanitize`
//! is a name the compiler keeps for itself.
//!
//! ThreadSanitizer needs the `rust-src` component: unless the standard library is instrumented
//! too it does not see std's locks, and reports races on whatever they guard. It also knows
//! nothing of fences, so code ordered by one needs another form under `cfg(sanitized)`.

use std::path::Path;

use crate::command::Invocation;
use crate::failure::Failure;
use crate::workspace;

pub(crate) fn run() -> Result<(), Failure> {
    let nightly = Nightly::find()?;
    nightly.stress_test("address").run()?;
    if !nightly.has_std_source {
        return Err(Failure::new(
            "AddressSanitizer passed; ThreadSanitizer was not run, it needs \
             `rustup component add rust-src --toolchain nightly`",
        ));
    }
    nightly.stress_test("thread").run()
}

struct Nightly {
    host: String,
    has_std_source: bool,
}

impl Nightly {
    fn find() -> Result<Self, Failure> {
        let about = Invocation::new("rustup run nightly rustc -vV")
            .stdout()
            .map_err(|failure| {
                Failure::new(format!(
                    "the sanitizers need a nightly toolchain \
                     (`rustup toolchain install nightly`): {failure}"
                ))
            })?;
        let host = host(&about).ok_or_else(|| Failure::new("nightly rustc names no host"))?;
        let sysroot = Invocation::new("rustup run nightly rustc --print sysroot").stdout()?;
        let std_source = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/Cargo.lock");
        Ok(Self {
            host: host.to_owned(),
            has_std_source: std_source.exists(),
        })
    }

    fn stress_test(&self, sanitizer: &str) -> Invocation {
        // `--target`, though it names the host, keeps the flags away from build scripts.
        let test = "test -p manyhands --test stress --release";
        let test = Invocation::new(&format!("rustup run nightly cargo {test}"))
            .arg("--target")
            .arg(&self.host)
            .arg("--target-dir")
            .arg(workspace::target_subdir(&format!("sanitize-{sanitizer}")));
        let test = if self.has_std_source {
            test.arg("-Zbuild-std")
        } else {
            test
        };
        test.env("RUSTFLAGS", rustflags(sanitizer, self.has_std_source))
    }
}

fn rustflags(sanitizer: &str, has_std_source: bool) -> String {
    let flags = format!("-Zsanitizer={sanitizer} --cfg sanitized");
    if has_std_source {
        flags
    } else {
        // Without this rustc refuses to link an instrumented crate with a plain std.
        format!("{flags} -Cunsafe-allow-abi-mismatch=sanitizer")
    }
}

/// The host triple in the output of `rustc -vV`.
fn host(about: &str) -> Option<&str> {
    about.lines().find_map(|line| line.strip_prefix("host: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_read_from_the_long_version() {
        let about = "rustc 1.0.0\nbinary: rustc\nhost: riscv64gc-unknown-linux-gnu\n";
        assert_eq!(host(about), Some("riscv64gc-unknown-linux-gnu"));
        assert_eq!(host("rustc 1.0.0"), None);
    }

    #[test]
    fn a_plain_std_needs_leave_to_mix() {
        assert!(rustflags("thread", false).contains("mismatch"));
        assert!(!rustflags("thread", true).contains("mismatch"));
    }
}
