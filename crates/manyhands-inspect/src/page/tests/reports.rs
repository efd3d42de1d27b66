//! Reports of loops over real connections.

use super::{page, with_token};
use crate::page::assets::ASSETS;
use crate::reports::tests::late;
use crate::view::View;

#[test]
fn what_kept_loops_from_being_faster_is_shown_as_the_program_has_sent_it() {
    let (port, token) = page(|| {
        let mut evil = late();
        evil.why = "<script>alert(1)</script>".to_owned();
        Ok(View {
            reports: vec![late(), evil],
            ..View::default()
        })
    });
    let (status, head, body) = with_token(port, "/view", &token);
    assert_eq!(status, 200, "{head}");
    let seen: serde_json::Value = serde_json::from_str(&body).unwrap();
    let reports = &seen["view"]["reports"];
    assert_eq!(reports[0], serde_json::to_value(late()).unwrap());
    assert_eq!(reports[0]["verdict"], "shared_late");
    // The page's script puts it in as text.
    assert_eq!(reports[1]["why"], "<script>alert(1)</script>");
    // Every field that the table reads is there.
    let table = ASSETS.iter().find(|asset| asset.path == "/tables.js");
    let (_, table) = table.unwrap().text.split_once("  why: {").unwrap();
    let (table, _) = table.split_once("\n  },").unwrap();
    let fields = table.split("report.").skip(1);
    let fields: Vec<&str> = fields
        .filter_map(|field| {
            field
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .next()
        })
        .collect();
    assert!(fields.len() > 10, "{fields:?}");
    for field in fields {
        assert!(!reports[0][field].is_null(), "there is no {field}");
    }
}
