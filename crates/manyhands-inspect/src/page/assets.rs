//! The parts of the page that are the same for every program.

/// A part: its path, its kind, and what it is.
pub(super) struct Asset {
    pub(super) path: &'static str,
    pub(super) kind: &'static str,
    pub(super) text: &'static str,
}

pub(super) const ASSETS: [Asset; 8] = [
    Asset {
        path: "/",
        kind: HTML,
        text: include_str!("../../assets/page.html"),
    },
    Asset {
        path: "/page.css",
        kind: CSS,
        text: include_str!("../../assets/page.css"),
    },
    Asset {
        path: "/graph.css",
        kind: CSS,
        text: include_str!("../../assets/graph.css"),
    },
    Asset {
        path: "/page.js",
        kind: SCRIPT,
        text: include_str!("../../assets/page.js"),
    },
    Asset {
        path: "/picture.js",
        kind: SCRIPT,
        text: include_str!("../../assets/picture.js"),
    },
    Asset {
        path: "/snapshot.js",
        kind: SCRIPT,
        text: include_str!("../../assets/snapshot.js"),
    },
    Asset {
        path: "/tables.js",
        kind: SCRIPT,
        text: include_str!("../../assets/tables.js"),
    },
    Asset {
        path: "/words.js",
        kind: SCRIPT,
        text: include_str!("../../assets/words.js"),
    },
];

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
