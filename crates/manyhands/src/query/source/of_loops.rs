//! Queries as sources of loops: their items, by position.

use crate::engine::{Consumer, Plan, drive};
use crate::parallel::Source;
use crate::parallel::source::Feed;
use crate::query::source::IntoPipeline;
use crate::query::{Pipeline, Query, QueryRun, Settings};

/// What feeds a loop over a query.
#[derive(Debug)]
pub struct PipelineFeed<P>(P);

impl<P: Pipeline> Source for Query<'_, P> {
    type Item = P::Item;
    type Feed = PipelineFeed<P>;

    /// The query's own settings are not those of the loop.
    fn into_feed(self) -> PipelineFeed<P> {
        PipelineFeed(self.pipeline)
    }
}

impl<P: Pipeline> Feed for PipelineFeed<P> {
    type Item = P::Item;

    fn drive<C: Consumer<P::Item>>(self, consumer: &mut C, plan: &Plan<'_>) {
        // The other settings of a loop are those of a query that has none.
        let settings = Settings {
            degree: plan.sharing.degree,
            runtime: plan.sharing.runtime,
            ..Settings::default()
        };
        let run = QueryRun {
            settings,
            ending: (),
            site: plan.site,
        };
        // Gathered, unless they have positions.
        let items = self.0.into_positions(u64::MAX, &run).release();
        drive(&items, consumer, plan);
    }

    fn len_hint(&self) -> Option<usize> {
        let len = self.0.positions_left().filter(|_| P::IS_POSITIONAL)?;
        usize::try_from(len).ok()
    }
}

impl<P: Pipeline> IntoPipeline for PipelineFeed<P> {
    type Pipeline = P;

    /// The query itself, as an operand of another one, whose settings apply to both.
    fn into_pipeline(self) -> P {
        self.0
    }
}
