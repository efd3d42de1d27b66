//! A waker that is lent for a poll: it holds no part of what it wakes; its clones do.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::task::Waker;

/// A waker that is never dropped. What it wakes is borrowed meanwhile.
pub(crate) struct BorrowedWaker<'owner>(ManuallyDrop<Waker>, PhantomData<&'owner ()>);

impl BorrowedWaker<'_> {
    pub(crate) fn new(waker: Waker) -> Self {
        Self(ManuallyDrop::new(waker), PhantomData)
    }
}

impl Deref for BorrowedWaker<'_> {
    type Target = Waker;

    fn deref(&self) -> &Waker {
        &self.0
    }
}
