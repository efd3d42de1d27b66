//! Queries as sources of loops: their items, by position.

use crate::cancel::Token;
use crate::engine::{Consumer, Ending, Plan, drive};
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

    fn drive<C: Consumer<P::Item>>(self, consumer: &mut C, plan: &Plan<'_>, token: Option<&Token>) {
        let items = match token {
            Some(token) => by_position(self.0, plan, token),
            None => by_position(self.0, plan, ()),
        };
        drive(&items, consumer, plan);
    }

    fn len_hint(&self) -> Option<usize> {
        let len = self.0.positions_left().filter(|_| P::IS_POSITIONAL)?;
        usize::try_from(len).ok()
    }
}

/// The items of a loop's query: gathered, unless they have positions.
fn by_position<P: Pipeline, E: Ending>(pipeline: P, plan: &Plan<'_>, ending: E) -> P::Positions {
    // The other settings of a loop are those of a query that has none.
    let settings = Settings {
        degree: plan.sharing.degree,
        runtime: plan.sharing.runtime,
        ..Settings::default()
    };
    let run = QueryRun {
        settings,
        ending,
        site: plan.site,
    };
    pipeline.into_positions(u64::MAX, &run).release()
}

impl<P: Pipeline> IntoPipeline for PipelineFeed<P> {
    type Pipeline = P;

    /// The query itself, as an operand of another one, whose settings apply to both.
    fn into_pipeline(self) -> P {
        self.0
    }
}
