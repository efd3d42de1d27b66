//! Other processes that compute and do nothing else, to see how the laboratory measures on a busy machine.
//!
//! They are this program again. Each ends when its standard input does, so none outlives the one that
//! started it, however that ends.

use crate::output::Failure;
use manyhands_lab::console::Ending;
use std::{
    env,
    hint::black_box,
    io::{self, Read},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

/// Processes that compute until this is dropped.
#[derive(Debug)]
pub(crate) struct Load(Vec<Child>);

impl Load {
    /// Starts them.
    pub(crate) fn start(processes: u16) -> io::Result<Self> {
        let mut load = Self(Vec::new());
        for _ in 0..processes {
            let mut command = Command::new(env::current_exe()?);
            command.args(["lab", "busy"]);
            command.stdin(Stdio::piped()).stdout(Stdio::null());
            load.0.push(command.spawn()?);
        }
        Ok(load)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for process in &mut self.0 {
            // One that has ended already needs neither.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Computes until the standard input ends.
pub(crate) fn compute() -> Result<Ending, Failure> {
    let listen = || {
        // What is read means nothing, and an error is an end, too.
        let _ = io::stdin().lock().read_to_end(&mut Vec::new());
        // `Relaxed`: the flag is all that is said.
        HAS_ENDED.store(true, Ordering::Relaxed);
    };
    thread::Builder::new()
        .name("listener".to_owned())
        .spawn(listen)?;
    let mut state = 1_u64;
    // `Relaxed`: as above.
    while !HAS_ENDED.load(Ordering::Relaxed) {
        for _ in 0..STEPS {
            state = black_box(
                state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1),
            );
        }
    }
    Ok(Ending::Good)
}

static HAS_ENDED: AtomicBool = AtomicBool::new(false);
/// Steps between two looks, about a tenth of a millisecond.
const STEPS: u32 = 100_000;
