//! Loops with every option: each body exactly once, each result in its place, everything dropped once.

use crate::counted::{Tally, Thing, Visits};
use crate::delays::random::{Random, mix};
use crate::table::{Area, Kind};
use crate::world::{Load, Planned, World, len, planned_panics, wrapping_sum};
use manyhands::{cancel, join, parallel};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) const KINDS: Area = &[
    Kind {
        name: "for_range",
        step: for_range,
    },
    Kind {
        name: "for_range, degrees, deterministic, pools",
        step: for_range_with_options,
    },
    Kind {
        name: "for_range over integers of all types",
        step: integers,
    },
    Kind {
        name: "for_each over what is owned",
        step: for_each_owned,
    },
    Kind {
        name: "for_each over slices",
        step: for_each_slice,
    },
    Kind {
        name: "for_each over an iterator",
        step: for_each_iterator,
    },
    Kind {
        name: "for_each, unbuffered, each waits for the next",
        step: unbuffered,
    },
    Kind {
        name: "map",
        step: map,
    },
    Kind {
        name: "map of an iterator",
        step: map_iterator,
    },
    Kind {
        name: "map with a panic",
        step: map_panics,
    },
    Kind {
        name: "for_range with panics",
        step: for_range_panics,
    },
    Kind {
        name: "try_for_range",
        step: try_for_range,
    },
    Kind {
        name: "try_map",
        step: try_map,
    },
    Kind {
        name: "try_for_each over what is owned",
        step: try_for_each,
    },
    Kind {
        name: "break",
        step: break_at,
    },
    Kind {
        name: "stop",
        step: stop,
    },
    Kind {
        name: "local states",
        step: local,
    },
    Kind {
        name: "local states, try_for_each",
        step: local_try,
    },
    Kind {
        name: "cancellation of for_range",
        step: cancelled_for_range,
    },
    Kind {
        name: "cancellation of map",
        step: cancelled_map,
    },
    Kind {
        name: "nested for_range",
        step: nested,
    },
    Kind {
        name: "for_range under a lock",
        step: under_lock,
    },
    Kind {
        name: "for_range with joins inside",
        step: joins_inside,
    },
];

fn for_range(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let visits = Visits::new(len);
    parallel::for_each(0..len, |index| {
        load.work(index);
        visits.visit(index);
    });
    visits.assert_all();
}

fn for_range_with_options(random: &mut Random, world: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let visits = Visits::new(len);
    let mut options = parallel::Options::new();
    if random.is_one_in(2) {
        options = options
            .degree_of_parallelism(1 + random.length(6))
            .expect("at least 1");
    }
    if random.is_one_in(3) {
        options = options.runtime(&world.other);
    }
    options.for_each(0..len, |index| {
        load.work(index);
        visits.visit(index);
    });
    visits.assert_all();
}

fn integers(random: &mut Random, _: &World) {
    let sum = AtomicU64::new(0);
    let add = |number: u64| {
        sum.fetch_add(number, Ordering::Relaxed);
    };
    match random.below(5) {
        0 => parallel::for_each(0..=u8::MAX, |n| add(u64::from(n))),
        1 => parallel::for_each(-128..=127_i8, |n| {
            add(u64::from(n.wrapping_add(-128).cast_unsigned()));
        }),
        2 => parallel::for_each(1_000..1_256_u16, |n| add(u64::from(n) - 1_000)),
        3 => parallel::for_each(i64::MAX - 255..=i64::MAX, |n| {
            add((n - (i64::MAX - 255)).cast_unsigned());
        }),
        _ => parallel::for_each(usize::MAX - 256..usize::MAX, |n| {
            add((n - (usize::MAX - 256)) as u64);
        }),
    }
    assert_eq!(sum.into_inner(), 255 * 256 / 2);
}

fn for_each_owned(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let (tally, visits) = (Tally::new(), Visits::new(len));
    let things: Vec<Thing> = (0..len).map(|number| tally.make(number)).collect();
    parallel::for_each(things, |thing| {
        load.work(thing.number());
        visits.visit(thing.number());
    });
    visits.assert_all();
    tally.assert_none_left();
}

fn for_each_slice(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let mut numbers: Vec<u64> = (0..len).collect();
    let visits = Visits::new(len);
    parallel::for_each(&numbers, |&number| visits.visit(number));
    visits.assert_all();
    parallel::for_each(&mut numbers, |number| *number = load.work(*number));
    assert!(
        numbers.iter().copied().eq((0..len).map(mix)),
        "every item was changed once"
    );
}

fn for_each_iterator(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let (tally, visits) = (Tally::new(), Visits::new(len));
    let things = (0..len).map(|number| tally.make(number));
    parallel::for_each(parallel::from_iter(things), |thing| {
        load.work(thing.number());
        visits.visit(thing.number());
    });
    visits.assert_all();
    tally.assert_none_left();
}

fn unbuffered(random: &mut Random, _: &World) {
    let len = random.below(40);
    let visits = Visits::new(len);
    let before_last = Mutex::new(0_u64);
    parallel::for_each(parallel::from_iter(0..len).unbuffered(), |index| {
        *before_last.lock().expect("no panic under the lock") += index;
        visits.visit(index);
    });
    visits.assert_all();
    assert_eq!(
        before_last.into_inner().expect("no panic under the lock"),
        len * len.saturating_sub(1) / 2
    );
}

fn map(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let tally = Tally::new();
    let things = parallel::map(0..len, |index| {
        load.work(index);
        tally.make(index)
    });
    assert!(
        things.iter().map(Thing::number).eq(0..len),
        "each result in its place"
    );
    drop(things);
    tally.assert_none_left();
}

fn map_iterator(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let tally = Tally::new();
    let source = parallel::from_iter((0..len).map(|number| tally.make(number)));
    let things = parallel::map(source, |thing| tally.make(load.work(thing.number())));
    assert!(
        things.iter().map(Thing::number).eq((0..len).map(mix)),
        "each result in its place"
    );
    drop(things);
    tally.assert_none_left();
}

fn map_panics(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = 1 + len(random, load);
    let at = random.below(len);
    let tally = Tally::new();
    let panics = planned_panics(|| {
        parallel::map(0..len, |index| {
            load.work(index);
            if index == at {
                Planned::throw(index);
            }
            tally.make(index)
        })
    });
    assert_eq!(panics, [at]);
    tally.assert_none_left();
}

fn for_range_panics(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = 1 + len(random, load);
    let (every, visits) = (1 + random.below(len), Visits::new(len));
    let panics = planned_panics(|| {
        parallel::for_each(0..len, |index| {
            visits.visit(index);
            load.work(index);
            if index % every == 0 {
                Planned::throw(index);
            }
        });
    });
    assert!(!panics.is_empty(), "index 0 panics, or another before it");
    let visited: Vec<u64> = (0..len).filter(|&index| visits.has(index)).collect();
    let expected: Vec<u64> = visited
        .into_iter()
        .filter(|index| index % every == 0)
        .collect();
    assert_eq!(panics, expected, "the panics of all bodies that ran");
}

fn try_for_range(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let (every, visits) = (1 + random.below(2 * len + 1), Visits::new(len));
    let fails = |index: u64| index % every == every - 1;
    let result = parallel::try_for_each(0..len, |index| {
        visits.visit(index);
        load.work(index);
        if fails(index) { Err(index) } else { Ok(()) }
    });
    let failed: Vec<u64> = (0..len)
        .filter(|&index| visits.has(index) && fails(index))
        .collect();
    match result {
        Ok(()) => {
            visits.assert_all();
            assert!(failed.is_empty(), "a failure was reported");
        }
        Err(failures) => {
            let errors: Vec<u64> = failures
                .errors()
                .map(|(at, &error)| {
                    assert_eq!(at, error);
                    error
                })
                .collect();
            assert_eq!(errors, failed, "the failures of all bodies that ran");
            assert!(!errors.is_empty() && failures.panics().count() == 0);
        }
    }
}

fn try_map(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let (at, tally) = (random.below(2 * len + 1), Tally::new());
    let result = parallel::try_map(0..len, |index| {
        load.work(index);
        if index == at {
            Err(tally.make(index))
        } else {
            Ok(tally.make(index))
        }
    });
    match result {
        Ok(things) => assert!(at >= len && things.iter().map(Thing::number).eq(0..len)),
        Err(failures) => {
            let errors: Vec<u64> = failures.errors().map(|(_, error)| error.number()).collect();
            assert_eq!(errors, [at]);
        }
    }
    tally.assert_none_left();
}

fn try_for_each(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let (at, tally, visits) = (random.below(2 * len + 1), Tally::new(), Visits::new(len));
    let things: Vec<Thing> = (0..len).map(|number| tally.make(number)).collect();
    let result = parallel::try_for_each(things, |thing| {
        visits.visit(thing.number());
        load.work(thing.number());
        if thing.number() == at {
            Err(thing)
        } else {
            Ok(())
        }
    });
    assert_eq!(result.is_err(), at < len);
    if result.is_ok() {
        visits.assert_all();
    }
    drop(result);
    tally.assert_none_left();
}

fn break_at(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = 1 + len(random, load);
    let (at, visits) = (random.below(len), Visits::new(len));
    let outcome = parallel::Options::new().for_each_with_control(0..len, |index, control| {
        load.work(index);
        visits.visit(index);
        if index == at || (index > at && index % 7 == 0) {
            control.break_at_current();
        }
    });
    visits.assert_all_below(at + 1);
    assert_eq!(outcome.lowest_break(), Some(at));
    assert!(!outcome.is_completed() && !outcome.is_stopped());
}

fn stop(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = 1 + len(random, load);
    let (at, tally) = (random.below(len), Tally::new());
    let things: Vec<Thing> = (0..len).map(|number| tally.make(number)).collect();
    let outcome = parallel::Options::new().for_each_with_control(things, |thing, control| {
        load.work(thing.number());
        if thing.number() == at {
            control.stop();
        }
    });
    assert!(outcome.is_stopped());
    tally.assert_none_left();
}

fn local(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let (tally, visits, sum) = (Tally::new(), Visits::new(len), AtomicU64::new(0));
    let (inits, finishes) = (AtomicU64::new(0), AtomicU64::new(0));
    let init = || {
        inits.fetch_add(1, Ordering::Relaxed);
        (tally.make(0), 0_u64)
    };
    let finish = |(_, part): (Thing, u64)| {
        finishes.fetch_add(1, Ordering::Relaxed);
        sum.fetch_add(part, Ordering::Relaxed);
    };
    let outcome =
        parallel::Options::new()
            .local(init, finish)
            .for_each(0..len, |index, _, state| {
                visits.visit(index);
                state.1 = state.1.wrapping_add(load.work(index));
            });
    assert!(outcome.is_completed());
    visits.assert_all();
    assert_eq!(sum.into_inner(), wrapping_sum((0..len).map(mix)));
    assert_eq!(
        inits.into_inner(),
        finishes.into_inner(),
        "states made and finished"
    );
    tally.assert_none_left();
}

fn local_try(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let (tally, at) = (Tally::new(), random.below(2 * len + 1));
    let (made, finished) = (AtomicU64::new(0), AtomicU64::new(0));
    let init = || made.fetch_add(1, Ordering::Relaxed);
    let finish = |_| {
        finished.fetch_add(1, Ordering::Relaxed);
    };
    let things: Vec<Thing> = (0..len).map(|number| tally.make(number)).collect();
    let result =
        parallel::Options::new()
            .local(init, finish)
            .try_for_each(things, |thing, _, _| {
                load.work(thing.number());
                if thing.number() == at {
                    Err(thing)
                } else {
                    Ok(())
                }
            });
    assert_eq!(result.is_err(), at < len);
    drop(result);
    assert_eq!(
        made.into_inner(),
        finished.into_inner(),
        "states made and finished"
    );
    tally.assert_none_left();
}

fn cancelled_for_range(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let (at, visits) = (random.below(2 * len + 1), Visits::new(len));
    let source = cancel::TokenSource::new();
    let token = source.token();
    let result = parallel::Options::new()
        .cancellation(&token)
        .for_each(0..len, |index| {
            load.work(index);
            visits.visit(index);
            if index == at {
                source.cancel();
            }
        });
    match result {
        Ok(()) => visits.assert_all(),
        Err(cancelled) => assert!(cancelled.token() == &token && at < len),
    }
}

fn cancelled_map(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let (at, tally) = (random.below(2 * len + 1), Tally::new());
    let source = cancel::TokenSource::new();
    let token = source.token();
    let cancel_at = |index: u64| {
        load.work(index);
        if index == at {
            source.cancel();
        }
        tally.make(index)
    };
    let map = || {
        parallel::Options::new()
            .cancellation(&token)
            .map(0..len, cancel_at)
    };
    let result = if random.is_one_in(3) {
        // By another thread, at any time.
        join(map, || source.cancel()).0
    } else {
        map()
    };
    if let Ok(things) = result {
        assert!(
            things.iter().map(Thing::number).eq(0..len),
            "a loop that completed ran everything"
        );
    }
    tally.assert_none_left();
}

fn nested(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let (outer, inner) = (1 + random.below(12), len(random, load));
    let visits = Visits::new(outer * inner);
    parallel::for_each(0..outer, |row| {
        parallel::for_each(0..inner, |column| {
            load.work(column);
            visits.visit(row * inner + column);
        });
        (0..inner).for_each(|column| assert!(visits.has(row * inner + column), "its loop is done"));
    });
    visits.assert_all();
}

fn under_lock(random: &mut Random, world: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let visits = Visits::new(len);
    let mut inside = world.lock();
    let before = *inside;
    parallel::for_each(0..len, |index| {
        load.work(index);
        visits.visit(index);
    });
    visits.assert_all();
    *inside += len;
    assert_eq!(*inside, before + len);
}

fn joins_inside(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let visits = Visits::new(2 * len);
    parallel::for_each(0..len, |index| {
        let first = || {
            load.work(index);
            visits.visit(2 * index);
        };
        join(first, || visits.visit(2 * index + 1));
    });
    visits.assert_all();
}
