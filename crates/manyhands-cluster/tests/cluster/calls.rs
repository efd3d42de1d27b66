//! Calls whose workers are well. They are given the cluster, so those of other engines pass the same.

use manyhands::{cancel::TokenSource, query::prelude::*, time};
use manyhands_cluster::{Broadcast, Cluster, ClusterError, Remote, Total, remote};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    ops::Range,
    path::PathBuf,
    process,
    time::Duration,
};

/// A name, and what to do with a cluster.
type Call = (&'static str, fn(&Cluster));

pub(crate) const ALL: [Call; 8] = [
    ("calls are as local ones", are_as_local_ones),
    (
        "many calls at once share the workers",
        at_once_share_the_workers,
    ),
    (
        "large captures and results pass",
        with_large_captures_and_results_pass,
    ),
    (
        "values are lent, and sent to a worker once for many calls",
        with_values_that_last,
    ),
    (
        "results come one by one, and bodies that fail are run again",
        that_stream_and_try_again,
    ),
    (
        "a panic comes with its index and its host",
        with_a_panic_name_index_and_host,
    ),
    (
        "values that panic when they are written or read end their call",
        with_values_that_panic_end,
    ),
    (
        "a deadline and a cancellation end a call",
        end_by_deadline_and_cancellation,
    ),
];

fn are_as_local_ones(cluster: &Cluster) {
    let all = |cluster: &Cluster| {
        let salt = "salt".to_owned();
        let texts = remote!([salt: String] |i| -> String { format!("{salt} {i}") });
        let texts = cluster.map(0..5_000, texts).unwrap();
        let sum = remote!([] |i| -> u64 { i * i }, |a, b| { a + b });
        let sum = cluster.map_reduce(10..5_000, sum).unwrap();
        let nothing = remote!([] |i| -> u64 { i }, |a, b| { a.max(b) });
        let nothing = cluster.map_reduce(7..7, nothing).unwrap();
        let groups = remote!([] |part: Range<u64>| -> BTreeMap<u64, Total<u64>> {
            let counts = part.into_par_query().filter(|i| i % 3 == 0).count_by(|i| i % 7).to_vec();
            counts.into_iter().map(|(key, count)| (key, Total(count as u64))).collect()
        });
        let groups = cluster.query(0..5_000, groups).unwrap();
        let word = "hands".to_owned();
        let one = remote!([word: String] || -> usize { word.len() });
        (texts, sum, nothing, groups, cluster.call(one).unwrap())
    };
    assert!(!cluster.is_local());
    assert_eq!(all(cluster), all(&Cluster::local()));
    let other_process = cluster.call(remote!([] || -> u32 { process::id() }));
    assert_ne!(other_process, Ok(process::id()));
}

fn at_once_share_the_workers(cluster: &Cluster) {
    let spawned: Vec<_> = (0..50)
        .map(|n: u64| cluster.spawn(remote!([n: u64] || -> u64 { n * n })))
        .collect();
    std::thread::scope(|scope| {
        for n in 0..4_u64 {
            scope.spawn(move || {
                let sums = remote!([n: u64] |i| -> u64 { i + n });
                let sums = cluster.map(0..500, sums).unwrap();
                assert!(sums.into_iter().eq((0..500).map(|i| i + n)));
            });
        }
    });
    for (n, spawned) in (0..).zip(spawned) {
        assert_eq!(spawned.join(), Ok(n * n));
    }
}

fn with_large_captures_and_results_pass(cluster: &Cluster) {
    let bytes: Vec<u64> = (0..400_000).map(|i| i * i).collect();
    let expected = bytes.clone();
    let results = cluster.map(
        0..40,
        remote!([bytes: Vec<u64>] |i| -> Vec<u64> {
            let from = usize::try_from(i).unwrap() * 10_000;
            bytes[from..from + 10_000].to_vec()
        }),
    );
    assert_eq!(results.unwrap().concat(), expected);
}

/// Says at which worker it was read, each time that it is.
#[derive(Serialize)]
struct Noted {
    folder: PathBuf,
    numbers: Vec<u64>,
}

impl<'de> Deserialize<'de> for Noted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (folder, numbers): (PathBuf, Vec<u64>) = Deserialize::deserialize(deserializer)?;
        let name = process::id().to_string();
        File::create_new(folder.join(name)).expect("it is read once");
        Ok(Self { folder, numbers })
    }
}

fn with_values_that_last(cluster: &Cluster) {
    let folder = std::env::temp_dir().join(format!("manyhands-cluster-lasts-{}", process::id()));
    drop(fs::remove_dir_all(&folder));
    fs::create_dir(&folder).unwrap();
    let numbers: Vec<u64> = (0..100_000).collect();
    let table = Broadcast::new(Noted {
        folder: folder.clone(),
        numbers,
    });
    let lent = vec![1_000_000_u64, 2_000_000];
    for round in 0..4_u64 {
        let sums = remote!([round: u64, &table: Broadcast<Noted>, &lent: Vec<u64>] |i| -> u64 {
            table.numbers[usize::try_from(i).unwrap()] + lent[0] + round
        });
        let sums = cluster.map(0..300, sums).unwrap();
        assert!(sums.into_iter().eq((0..300).map(|i| i + 1_000_000 + round)));
    }
    assert_eq!(lent.len(), 2, "it is still here");
    assert!(fs::read_dir(&folder).unwrap().count() > 0, "it was sent");
    fs::remove_dir_all(&folder).unwrap();
}

fn that_stream_and_try_again(cluster: &Cluster) {
    let mut seen = BTreeMap::new();
    let squares = remote!([] |i| -> u64 { i * i });
    let options = cluster.options();
    options
        .map_unordered(0..2_000, squares, |i, square| {
            assert!(seen.insert(i, square).is_none());
        })
        .unwrap();
    assert!(seen.into_iter().eq((0..2_000).map(|i| (i, i * i))));
    let squares = remote!([] |i| -> u64 { i * i });
    let stopped = options.map_unordered(0..2_000, squares, |_, _| panic!("no more"));
    assert!(
        matches!(stopped, Err(ClusterError::BodyPanicked { message, .. }) if message == "no more")
    );
    let mark = std::env::temp_dir().join(format!("manyhands-cluster-shaky-{}", process::id()));
    let shaky = {
        remote!([&mark: PathBuf] |i| -> u64 {
            assert!(i != 5 || File::create_new(mark).is_err(), "the first time fails");
            i
        })
    };
    let again = options.retries(1).map(0..9, shaky);
    fs::remove_file(&mark).unwrap();
    assert!(again.unwrap().into_iter().eq(0..9));
}

fn with_a_panic_name_index_and_host(cluster: &Cluster) {
    let body = remote!([] |i| -> u64 { if i == 77 { panic!("no {i}") } else { i } });
    let failed = cluster.map(0..1_000, body).unwrap_err();
    let ClusterError::BodyPanicked {
        range,
        message,
        host,
    } = failed
    else {
        panic!("{failed}");
    };
    assert_eq!((range, message.as_str()), (77..78, "no 77"));
    let (_, id) = host.rsplit_once('/').unwrap();
    assert_ne!(id.parse(), Ok(process::id()), "{host}");
    let next = cluster.map(0..3, remote!([] |i| -> u64 { i }));
    assert_eq!(next, Ok(vec![0, 1, 2]), "the workers go on");
}

/// Panics when it is written, or else when it is read, in any process but this one; or in this one only.
struct Hostile {
    own: u32,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Place {
    WrittenElsewhere,
    ReadElsewhere,
    WrittenHere,
    ReadHere,
}

impl Serialize for Hostile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = if process::id() == self.own {
            Place::WrittenHere
        } else {
            Place::WrittenElsewhere
        };
        assert!(self.place != place, "hostile");
        (self.own, self.place).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Hostile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (own, of) = Deserialize::deserialize(deserializer)?;
        let place = if process::id() == own {
            Place::ReadHere
        } else {
            Place::ReadElsewhere
        };
        assert!(of != place, "hostile");
        Ok(Self { own, place: of })
    }
}

fn with_values_that_panic_end(cluster: &Cluster) {
    let hasty = cluster.options().deadline(Duration::from_secs(60));
    let own = process::id();
    let hostile = |place| Hostile { own, place };
    let make = |place| {
        remote!([own: u32, place: Place] |_| -> Hostile {
            Hostile { own: *own, place: *place }
        })
    };
    let take = |value| remote!([value: Hostile] |_| -> u32 { value.own });
    let failures = [
        hasty.map(0..9, make(Place::WrittenElsewhere)).map(drop),
        hasty.map(0..9, make(Place::ReadHere)).map(drop),
        hasty.map(0..9, take(hostile(Place::WrittenHere))).map(drop),
        hasty
            .map(0..9, take(hostile(Place::ReadElsewhere)))
            .map(drop),
    ];
    for failed in failures {
        let error = failed.unwrap_err();
        let (ClusterError::Encode { reason } | ClusterError::Decode { reason, .. }) = &error else {
            panic!("{error:?}");
        };
        assert_eq!(reason, "it panicked: hostile");
    }
    let place = Place::ReadHere;
    let spawned = cluster.spawn(remote!([own: u32, place: Place] || -> Hostile {
        Hostile { own: *own, place: *place }
    }));
    let failed = spawned.join().map(drop);
    assert!(
        matches!(failed, Err(ClusterError::Decode { .. })),
        "{failed:?}"
    );
    let next = cluster.map(0..3, remote!([] |i| -> u64 { i }));
    assert_eq!(next, Ok(vec![0, 1, 2]), "workers and driver go on");
}

fn end_by_deadline_and_cancellation(cluster: &Cluster) {
    let hasty = cluster.options().deadline(Duration::from_millis(300));
    assert_eq!(
        hasty.map(0..100_000, slow()),
        Err(ClusterError::DeadlinePassed)
    );
    let source = TokenSource::new();
    source.cancel_after(Duration::from_millis(300));
    let token = source.token();
    let cancelled = cluster.options().cancellation(&token);
    assert_eq!(
        cancelled.map(0..100_000, slow()),
        Err(ClusterError::Cancelled)
    );
    let next = cluster.map(0..3, remote!([] |i| -> u64 { i }));
    assert_eq!(next, Ok(vec![0, 1, 2]), "the workers go on");
}

/// Twenty minutes of items.
fn slow() -> Remote<(), u64, ()> {
    remote!([] |_| -> () { time::sleep_blocking(Duration::from_millis(10)); })
}
