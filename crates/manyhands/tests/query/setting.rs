//! How a query is run: with which pool, degree and execution mode.

use manyhands::Runtime;
use manyhands::query::{ExecutionMode, Pipeline, Query};
use proptest::prelude::{Just, Strategy, prop_oneof};
use std::sync::LazyLock;

/// The pools that queries run on.
static POOLS: LazyLock<[Runtime; 3]> = LazyLock::new(|| {
    [1, 2, 8].map(|workers| Runtime::builder().workers(workers).build().expect("starts"))
});

/// How a query is run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) pool: usize,
    pub(crate) degree: usize,
    pub(crate) mode: ExecutionMode,
}

impl Setting {
    pub(crate) fn runtime(self) -> &'static Runtime {
        &POOLS[self.pool]
    }

    /// The query, run this way.
    pub(crate) fn set<P: Pipeline, O, E>(
        self,
        query: Query<'static, P, O, E>,
    ) -> Query<'static, P, O, E> {
        query
            .runtime(self.runtime())
            .degree_of_parallelism(self.degree)
            .expect("at least 1")
            .execution_mode(self.mode)
    }
}

/// Any of the ways.
pub(crate) fn any_setting() -> impl Strategy<Value = Setting> {
    let degrees = prop_oneof![Just(1_usize), Just(2), Just(3), Just(16)];
    let modes = prop_oneof![Just(ExecutionMode::Auto), Just(ExecutionMode::Parallel)];
    (0..3_usize, degrees, modes).prop_map(|(pool, degree, mode)| Setting { pool, degree, mode })
}
