//! Several closures at once, each perhaps of another type.

use crate::engine::Ending;
use crate::job::{catch, resume_all};
use crate::parallel::Options;
use crate::parallel::source::Source;
use crate::sync::{Mutex, into_inner, lock};

/// Closures to be invoked together: a tuple of 2 to 12, an array, or a vector. Sealed.
///
/// Example: see [`invoke`](crate::parallel::invoke()).
#[diagnostic::on_unimplemented(
    note = "pass all closures in one tuple, array or vector: `invoke((|| 1, || 2))`"
)]
pub trait Invoke: sealed::Sealed {
    /// Their results, in the same shape.
    type Outputs;

    /// Invokes all; the results are missing only if the call was cut short.
    #[doc(hidden)]
    fn invoke_all<E: Ending>(self, options: &Options<'_, E>) -> Option<Self::Outputs>;
}

mod sealed {
    pub trait Sealed {}
}

/// A closure, then its result.
struct Invocation<F, R> {
    closure: Option<F>,
    result: Option<R>,
}

impl<R, F: FnOnce() -> R> Invocation<F, R> {
    fn new(closure: F) -> Self {
        Self {
            closure: Some(closure),
            result: None,
        }
    }

    fn run(&mut self) {
        self.result = self.closure.take().map(|closure| closure());
    }
}

/// Calls `run` for each of these, also if some of them panic. They may wait for one another. What `run` is tells the call sites
/// apart.
fn run_all<S: Source, E: Ending>(runs: S, options: &Options<'_, E>, run: impl Fn(S::Item) + Sync) {
    let panics = Mutex::new(Vec::new());
    options.for_each_few(runs, |each| {
        if let Err(payload) = catch(|| run(each)) {
            lock(&panics).push(payload);
        }
    });
    resume_all(into_inner(panics));
}

impl<F> sealed::Sealed for Vec<F> {}

impl<R: Send, F: FnOnce() -> R + Send> Invoke for Vec<F> {
    type Outputs = Vec<R>;

    fn invoke_all<E: Ending>(self, options: &Options<'_, E>) -> Option<Vec<R>> {
        let mut places: Vec<_> = self.into_iter().map(Invocation::new).collect();
        run_all(&mut places, options, Invocation::run);
        places.into_iter().map(|place| place.result).collect()
    }
}

impl<F, const N: usize> sealed::Sealed for [F; N] {}

impl<R: Send, F: FnOnce() -> R + Send, const N: usize> Invoke for [F; N] {
    type Outputs = [R; N];

    fn invoke_all<E: Ending>(self, options: &Options<'_, E>) -> Option<[R; N]> {
        let results = Vec::from(self).invoke_all(options)?;
        results.try_into().ok()
    }
}

/// One implementation for each size: tuples have no generic form.
macro_rules! invoke_tuple {
    ($($closure:ident $result:ident $index:tt),*) => {
        impl<$($closure),*> sealed::Sealed for ($($closure,)*) {}

        impl<$($closure, $result),*> Invoke for ($($closure,)*)
        where
            $($closure: FnOnce() -> $result + Send, $result: Send,)*
        {
            type Outputs = ($($result,)*);

            fn invoke_all<Ended: Ending>(
                self,
                options: &Options<'_, Ended>,
            ) -> Option<Self::Outputs> {
                let mut places = ($(Invocation::new(self.$index),)*);
                let mut runs: [&mut (dyn FnMut() + Send); _] = [$(&mut || places.$index.run()),*];
                run_all(&mut runs, options, |run| run());
                Some(($(places.$index.result?,)*))
            }
        }
    };
}

invoke_tuple!(A RA 0, B RB 1);
invoke_tuple!(A RA 0, B RB 1, C RC 2);
invoke_tuple!(A RA 0, B RB 1, C RC 2, D RD 3);
invoke_tuple!(A RA 0, B RB 1, C RC 2, D RD 3, E RE 4);
invoke_tuple!(A RA 0, B RB 1, C RC 2, D RD 3, E RE 4, F RF 5);
invoke_tuple!(A RA 0, B RB 1, C RC 2, D RD 3, E RE 4, F RF 5, G RG 6);
invoke_tuple!(A RA 0, B RB 1, C RC 2, D RD 3, E RE 4, F RF 5, G RG 6, H RH 7);
invoke_tuple!(A RA 0, B RB 1, C RC 2, D RD 3, E RE 4, F RF 5, G RG 6, H RH 7, I RI 8);
invoke_tuple!(A RA 0, B RB 1, C RC 2, D RD 3, E RE 4, F RF 5, G RG 6, H RH 7, I RI 8, J RJ 9);
invoke_tuple!(
    A RA 0, B RB 1, C RC 2, D RD 3, E RE 4, F RF 5, G RG 6, H RH 7, I RI 8, J RJ 9, K RK 10
);
invoke_tuple!(
    A RA 0, B RB 1, C RC 2, D RD 3, E RE 4, F RF 5, G RG 6, H RH 7, I RI 8, J RJ 9, K RK 10,
    L RL 11
);

impl<E: Ending> Options<'_, E> {
    /// As [`invoke`](crate::parallel::invoke()), with these options.
    ///
    /// Example: see [`Options`].
    #[doc(alias = "Parallel.Invoke")]
    #[track_caller]
    pub fn invoke<I: Invoke>(&self, closures: I) -> E::Output<I::Outputs> {
        let outputs = closures.invoke_all(&self.called_here());
        self.ending.conclude(outputs)
    }
}
