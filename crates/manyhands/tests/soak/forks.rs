//! Joins, scopes and invocations, nested in each other, with panics, under locks, and from pool to pool.

use crate::counted::{Tally, Visits};
use crate::delays::random::Random;
use crate::table::{Area, Kind};
use crate::world::{Load, Planned, World, planned_panics};
use manyhands::{Runtime, Scope, join, parallel, scope};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

pub(crate) const KINDS: Area = &[
    Kind {
        name: "join, a tree",
        step: join_tree,
    },
    Kind {
        name: "join, a chain on one side",
        step: join_chain,
    },
    Kind {
        name: "join with panics",
        step: join_panics,
    },
    Kind {
        name: "join whose halves wait for each other",
        step: handshake,
    },
    Kind {
        name: "join under a lock",
        step: join_under_lock,
    },
    Kind {
        name: "scope, spawned by the body",
        step: scope_by_body,
    },
    Kind {
        name: "scope, spawned by one another",
        step: scope_by_one_another,
    },
    Kind {
        name: "scope with panics",
        step: scope_panics,
    },
    Kind {
        name: "scopes in scopes and joins",
        step: scopes_nested,
    },
    Kind {
        name: "scope of many under a lock",
        step: scope_under_lock,
    },
    Kind {
        name: "scope whose closures wait for each other",
        step: scope_waits,
    },
    Kind {
        name: "invoke",
        step: invoke,
    },
    Kind {
        name: "invoke with panics",
        step: invoke_panics,
    },
    Kind {
        name: "install in the other pool and back",
        step: there_and_back,
    },
];

fn sum_of(from: u64, to: u64, load: Load) -> u64 {
    if to - from <= 3 {
        (from..to).for_each(|index| load.burn(index));
        return (from..to).sum();
    }
    let middle = from + (to - from) / 3;
    let (a, b) = join(|| sum_of(from, middle, load), || sum_of(middle, to, load));
    a + b
}

fn join_tree(random: &mut Random, _: &World) {
    let (load, len) = (Load::random(random), random.below(1_000));
    assert_eq!(sum_of(0, len, load), (0..len).sum::<u64>());
}

fn join_chain(random: &mut Random, _: &World) {
    fn chain(depth: u64, visits: &Visits, load: Load) {
        if depth > 0 {
            let here = || {
                load.work(depth);
                visits.visit(depth - 1);
            };
            if depth.is_multiple_of(2) {
                join(|| chain(depth - 1, visits, load), here);
            } else {
                join(here, || chain(depth - 1, visits, load));
            }
        }
    }
    let (load, depth) = (Load::random(random), random.below(200));
    let visits = Visits::new(depth);
    chain(depth, &visits, load);
    visits.assert_all();
}

fn join_panics(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let (a, b) = (random.is_one_in(2), random.is_one_in(2));
    let tally = Tally::new();
    let (first, second) = (tally.make(1), tally.make(2));
    let half = |thing: crate::counted::Thing, panics: bool| {
        load.work(0);
        if panics {
            Planned::throw(thing.number());
        }
        thing
    };
    let panics = planned_panics(|| join(|| half(first, a), || half(second, b)));
    let expected: &[u64] = if a {
        &[1]
    } else if b {
        &[2]
    } else {
        &[]
    };
    assert_eq!(panics, expected);
    tally.assert_none_left();
}

fn handshake(random: &mut Random, _: &World) {
    let (to_b, from_a) = mpsc::channel();
    let (to_a, from_b) = mpsc::channel();
    let number = random.next();
    let first = move || {
        to_b.send(number).expect("the other half waits");
        from_b.recv().expect("the other half answers")
    };
    let second = move || {
        let number: u64 = from_a.recv().expect("the first half has sent");
        to_a.send(!number).expect("the first half waits");
        number
    };
    assert_eq!(join(first, second), (!number, number));
}

fn join_under_lock(random: &mut Random, world: &World) {
    let (load, len) = (Load::random(random), random.below(300));
    let mut inside = world.lock();
    let before = *inside;
    *inside += sum_of(0, len, load);
    assert_eq!(*inside, before + (0..len).sum::<u64>());
}

fn scope_by_body(random: &mut Random, _: &World) {
    let (load, len) = (Load::random(random), random.below(400));
    let visits = Visits::new(len);
    let result = scope(|s| {
        for index in 0..len {
            let visits = &visits;
            s.spawn(move |_| {
                load.work(index);
                visits.visit(index);
            });
        }
        len
    });
    assert_eq!(result, len);
    visits.assert_all();
}

fn scope_by_one_another(random: &mut Random, _: &World) {
    fn spawn<'s>(s: &Scope<'s>, from: u64, to: u64, visits: &'s Visits, load: Load) {
        if from < to {
            s.spawn(move |s| {
                let middle = u64::midpoint(from + 1, to);
                spawn(s, from + 1, middle, visits, load);
                spawn(s, middle, to, visits, load);
                load.work(from);
                visits.visit(from);
            });
        }
    }
    let (load, len) = (Load::random(random), random.below(400));
    let visits = Visits::new(len);
    scope(|s| spawn(s, 0, len, &visits, load));
    visits.assert_all();
}

fn scope_panics(random: &mut Random, _: &World) {
    let (load, len) = (Load::random(random), 1 + random.below(100));
    let (every, body_panics) = (1 + random.below(len), random.is_one_in(3));
    let (visits, tally) = (Visits::new(len), Tally::new());
    let panics = planned_panics(|| {
        scope(|s| {
            for index in 0..len {
                let (visits, thing) = (&visits, tally.make(index));
                s.spawn(move |_| {
                    load.work(index);
                    visits.visit(thing.number());
                    if index % every == 0 {
                        Planned::throw(index);
                    }
                });
            }
            if body_panics {
                Planned::throw(len);
            }
        });
    });
    let all = (0..len)
        .filter(|index| index % every == 0)
        .chain(body_panics.then_some(len));
    assert!(panics.into_iter().eq(all), "the panics of all closures");
    visits.assert_all();
    tally.assert_none_left();
}

fn scopes_nested(random: &mut Random, _: &World) {
    fn nest(depth: u64, load: Load) -> u64 {
        if depth == 0 {
            load.work(0);
            return 1;
        }
        let sum = AtomicU64::new(0);
        let add = || {
            sum.fetch_add(nest(depth - 1, load), Ordering::Relaxed);
        };
        scope(|s| {
            s.spawn(|_| add());
            s.spawn(|s| {
                s.spawn(|_| add());
                join(add, || load.work(1));
            });
        });
        sum.into_inner()
    }
    let (load, depth) = (Load::random(random), random.below(5));
    assert_eq!(
        nest(depth, load),
        3_u64.pow(u32::try_from(depth).expect("small"))
    );
}

fn scope_under_lock(random: &mut Random, world: &World) {
    let (load, len) = (Load::random(random), random.below(300));
    let mut inside = world.lock();
    let (before, added) = (*inside, AtomicU64::new(0));
    scope(|s| {
        for index in 0..len {
            let added = &added;
            s.spawn(move |_| {
                load.work(index);
                added.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    *inside += added.into_inner();
    assert_eq!(*inside, before + len);
}

fn scope_waits(random: &mut Random, _: &World) {
    let len = 2 + random.below(5);
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..len).map(|_| mpsc::channel()).unzip();
    let visits = Visits::new(len);
    scope(|s| {
        // Each sends to the next, and waits for the one before.
        let mut receivers = receivers
            .into_iter()
            .collect::<std::collections::VecDeque<_>>();
        receivers.rotate_left(1);
        for (index, (sender, receiver)) in (0..).zip(senders.into_iter().zip(receivers)) {
            let visits = &visits;
            s.spawn(move |_| {
                sender.send(index).expect("the other waits, or will");
                let from: u64 = receiver.recv().expect("the other sends");
                visits.visit(from);
            });
        }
    });
    visits.assert_all();
}

fn invoke(random: &mut Random, world: &World) {
    let (load, len) = (Load::random(random), random.below(100));
    let closures: Vec<_> = (0..len).map(|index| move || load.same(index)).collect();
    let options = parallel::Options::new().runtime(if random.is_one_in(3) {
        &world.other
    } else {
        &world.runtime
    });
    assert!(options.invoke(closures).into_iter().eq(0..len));
    let text = || len.to_string();
    let results = parallel::invoke((|| load.work(1), text, || len, || load.burn(2)));
    assert_eq!(results.1, len.to_string());
    assert_eq!(results.2, len);
    assert_eq!(parallel::invoke([|| 1, || 2, || 3]), [1, 2, 3]);
}

fn invoke_panics(random: &mut Random, _: &World) {
    let (load, len, tally) = (Load::random(random), 1 + random.below(40), Tally::new());
    let (every, visits) = (1 + random.below(len), Visits::new(len));
    let closures = (0..len).map(|index| {
        let (thing, visits) = (tally.make(index), &visits);
        move || {
            load.work(index);
            visits.visit(index);
            if index % every == 0 {
                Planned::throw(index);
            }
            thing
        }
    });
    let closures: Vec<_> = closures.collect();
    let panics = planned_panics(|| parallel::invoke(closures));
    assert!(
        panics
            .into_iter()
            .eq((0..len).filter(|index| index % every == 0))
    );
    visits.assert_all();
    tally.assert_none_left();
}

fn there_and_back(random: &mut Random, world: &World) {
    fn go(depth: u64, here: &Runtime, there: &Runtime, load: Load) -> u64 {
        if depth == 0 {
            return sum_of(0, 40, load);
        }
        let (a, b) = join(
            || there.install(|| go(depth - 1, there, here, load)),
            || sum_of(0, 10, load),
        );
        a + b
    }
    let (load, depth) = (Load::random(random), random.below(4));
    let sum = go(depth, &world.runtime, &world.other, load);
    assert_eq!(sum, 40 * 39 / 2 + depth * 45);
}
