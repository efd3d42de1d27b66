//! Which build of a program a process runs, and where: workers of another build could have other code under the same name.

#[cfg(unix)]
use std::os::unix::process::CommandExt;
use std::{
    env,
    fs::File,
    hash::{DefaultHasher, Hasher},
    io::{self, Read},
    path::{Path, PathBuf},
    process::Command,
};

/// What the variable `MANYHANDS_BUILD` says, else a digest of the program's file.
pub(crate) fn of_this_program() -> io::Result<String> {
    if let Ok(named) = env::var(VARIABLE)
        && !named.is_empty()
    {
        return Ok(named);
    }
    of_file(&program()?)
}

/// This program once more, with its arguments.
pub(crate) fn again() -> io::Result<Command> {
    let mut command = Command::new(program()?);
    #[cfg(unix)]
    if let Some(name) = env::args_os().next() {
        command.arg0(name);
    }
    command.args(env::args_os().skip(1));
    Ok(command)
}

/// The file of this program, also where it was replaced by a newer one since it was started.
fn program() -> io::Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() {
        return Ok(running.to_owned());
    }
    env::current_exe()
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
