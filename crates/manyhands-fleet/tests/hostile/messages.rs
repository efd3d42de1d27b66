//! Messages that are made up: bytes, and good ones of which something is spoiled.

use crate::note;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Texts that lead somewhere else, steer a terminal, or are no names.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("../escaped".to_owned()),
        Just("/tmp/escaped".to_owned()),
        Just("a b".to_owned()),
        Just("a.".to_owned()),
        Just(">".to_owned()),
        Just(String::new()),
        Just("\u{1b}]8;;http://evil\u{7}".to_owned()),
        Just("p.0".to_owned()),
        Just("x".repeat(100_000)),
        ".{0,20}",
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        Just(json!(u64::MAX)),
        Just(json!(u32::MAX)),
        Just(json!(-1)),
        Just(json!(1e300)),
        texts().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(texts(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// One field of a good message, or a field more, has another value.
fn spoiled(good: Value) -> impl Strategy<Value = Value> {
    let paths = paths(&good, "");
    (prop::sample::select(paths), values(), any::<bool>()).prop_map(move |(path, value, adds)| {
        let mut message = good.clone();
        let place = message.pointer_mut(&path).unwrap();
        match place {
            Value::Object(fields) if adds => {
                fields.insert("builds".to_owned(), value);
            }
            _ => *place = value,
        }
        message
    })
}

fn paths(value: &Value, path: &str) -> Vec<String> {
    let mut all = vec![path.to_owned()];
    match value {
        Value::Object(fields) => {
            let inner = fields.iter();
            all.extend(inner.flat_map(|(name, one)| paths(one, &format!("{path}/{name}"))));
        }
        Value::Array(values) => {
            let inner = values.iter().enumerate();
            all.extend(inner.flat_map(|(place, one)| paths(one, &format!("{path}/{place}"))));
        }
        _ => {}
    }
    all
}

pub(crate) fn good_jobs() -> [Value; 2] {
    let job = |work: Value| json!({ "id": "p.0", "ticket": "t", "work": work, "cpus": 2 });
    [
        job(json!({
            "kind": "case", "experiment": "T1", "case": "other", "scale": "quick", "seed": 1, "launches": 3,
            "seconds_max": 60
        })),
        job(
            json!({ "kind": "command", "name": "x", "holes": { "file": "/x" }, "seconds_max": 60 }),
        ),
    ]
}

pub(crate) fn good_reports() -> Vec<Value> {
    let job = json!({ "id": "0-0.0", "ticket": "t" });
    let note = |news: Value| note("evil", &job, "r", &news);
    vec![
        json!({ "waits": { "agent": "evil", "cpus": 2, "cpu": "x", "machine": "m" } }),
        note(json!({ "kind": "lines", "first": 0, "texts": ["a", "b"] })),
        note(json!({ "kind": "done", "lines": 2, "sha256": "00", "sending": "s", "machine": "m" })),
        note(json!({ "kind": "beat", "events": 1, "left_seconds": 1, "machine": "m" })),
        note(json!({ "kind": "failed", "reason": "why" })),
        note(json!({ "kind": "unable", "reason": "why" })),
    ]
}

pub(crate) fn good_requests() -> Vec<Value> {
    let toml = "name = 'x'\ncommands = [{ name = 'a' }]";
    vec![
        json!({ "submit": { "plan": "q", "toml": toml } }),
        json!({ "cancel": "q" }),
        json!({ "redo": { "job": "q.0", "ticket": "t" } }),
        json!({ "token": "U", "key": "U", "by_token": [1, 2], "by_key": [3] }),
    ]
}

/// A message that is hostile: bytes, or one that was good.
pub(crate) fn hostile(good: Vec<Value>) -> impl Strategy<Value = Vec<u8>> {
    let spoiled = prop::sample::select(good).prop_flat_map(spoiled);
    prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..200),
        1 => values().prop_map(|value| value.to_string().into_bytes()),
        8 => spoiled.prop_map(|value| value.to_string().into_bytes()),
    ]
}
