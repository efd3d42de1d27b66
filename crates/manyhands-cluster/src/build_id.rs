//! Which build of a program a process runs, and where: workers of another build could have other code under the same name.

use std::{
    env,
    fs::File,
    hash::{DefaultHasher, Hasher},
    io::{self, Read},
    path::Path,
};

/// What the variable `MANYHANDS_BUILD` says, else a digest of the program's file.
pub(crate) fn of_this_program() -> io::Result<String> {
    if let Ok(named) = env::var(VARIABLE)
        && !named.is_empty()
    {
        return Ok(named);
    }
    let running = Path::new("/proc/self/exe");
    if running.exists() {
        return of_file(running);
    }
    of_file(&env::current_exe()?)
}

/// The name of this machine and the number of this process.
pub(crate) fn this_process() -> String {
    #[cfg(unix)]
    let name = nix::unistd::gethostname().ok();
    #[cfg(not(unix))]
    let name = env::var_os("COMPUTERNAME");
    let name = name.and_then(|name| name.into_string().ok());
    let name = name.unwrap_or_else(|| "unnamed".to_owned());
    format!("{name}/{}", std::process::id())
}

/// Builds are compared, not protected against each other: 64 bits without a secret are enough.
fn of_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = DefaultHasher::new();
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        let len = file.read(&mut block)?;
        if len == 0 {
            return Ok(format!("{:016x}", hasher.finish()));
        }
        hasher.write(&block[..len]);
    }
}

const VARIABLE: &str = "MANYHANDS_BUILD";
const BLOCK_BYTES: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_differs_in_one_byte_is_another_build() {
        let folder = env::temp_dir().join(format!("manyhands-build-{}", std::process::id()));
        let write = |bytes: &[u8]| {
            std::fs::write(&folder, bytes).unwrap();
            of_file(&folder).unwrap()
        };
        let mut bytes = vec![7; 200_000];
        let one = write(&bytes);
        assert_eq!(one, write(&bytes));
        bytes[150_000] = 8;
        assert_ne!(one, write(&bytes));
        std::fs::remove_file(&folder).unwrap();
    }
}
