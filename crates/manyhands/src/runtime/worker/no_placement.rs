//! As `placement.rs`, where no thread is kept off a processor: on systems other than Linux, under Miri and in explorations.

/// Nothing to be done.
#[derive(Default)]
pub(crate) struct Placement;

impl Placement {
    pub(crate) fn begin(&self, _thread: i32) {}

    pub(crate) fn end(&self) {}

    pub(crate) fn fall_asleep(&self) {}

    pub(crate) fn steer_away(&self, _busy: usize) {}

    pub(crate) fn wake_up(&self) {}
}
