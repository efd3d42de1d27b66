//! A merged graph as SVG: who waits stands above what it waits for, and a function above its caller, but in a
//! view of one function below it.
//!
//! The picture has classes and no colours, so that a page can follow light and dark. All text is escaped.

use crate::graph::{Edge, Graph, Members, Node, NodeKind, Subject};
use std::fmt::Write;

/// Where a node is drawn.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    /// Where its layer begins, if there are rows of it above this one.
    begin: Option<usize>,
    /// Where its layer ends, if there are rows of it below this one.
    end: Option<usize>,
}

impl Place {
    /// Between it and its right neighbour, where no box of its layer is.
    fn lane(&self) -> usize {
        self.x + self.width + GAP / 2
    }
}

/// Draws the graph.
pub(crate) fn draw(graph: &Graph) -> String {
    let layers = layers(graph);
    let (places, width, height) = places(graph, &layers);
    let words = Words::of(graph.subject);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" class=\"graph\" role=\"img\" aria-label=\"{}\">\
         <defs><marker id=\"{}\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" \
         orient=\"auto-start-reverse\"><path d=\"M0 0 8 4 0 8z\"/></marker></defs>",
        words.title, words.marker
    );
    for edge in &graph.edges {
        let leads_down = layers[edge.from] < layers[edge.to];
        draw_edge(&mut svg, edge, &places, leads_down, &words);
    }
    for (node, place) in graph.nodes.iter().zip(&places) {
        draw_node(&mut svg, node, *place);
    }
    if graph.left_out > 0 {
        let y = height - MARGIN / 2;
        let _ = write!(
            svg,
            "<text class=\"more\" x=\"{MARGIN}\" y=\"{y}\">and {} more {}</text>",
            graph.left_out, words.more
        );
    }
    svg.push_str("</svg>");
    svg
}

/// How a graph's parts are called.
struct Words {
    title: &'static str,
    /// The name of the arrowhead: a page has one picture of each kind.
    marker: &'static str,
    /// Which end of an edge it is at.
    marker_at: &'static str,
    edges: &'static str,
    more: &'static str,
}

impl Words {
    fn of(subject: Subject) -> Self {
        match subject {
            Subject::Waits => Self {
                title: "Who waits for whom",
                marker: "arrow",
                marker_at: "marker-end",
                edges: "waits",
                more: "groups of tasks",
            },
            Subject::Calls => Self {
                title: "What threads run",
                marker: "call-arrow",
                marker_at: "marker-start",
                edges: "threads",
                more: "branches",
            },
            Subject::Method(Members::Threads) => Self {
                title: "Who calls the function, and what it calls",
                marker: "method-arrow",
                marker_at: "marker-end",
                edges: "threads",
                more: "functions",
            },
            Subject::Method(Members::Tasks) => Self {
                title: "What tasks go through the function",
                marker: "task-method-arrow",
                marker_at: "marker-end",
                edges: "tasks",
                more: "functions",
            },
        }
    }
}

/// The layer of each node: below all that wait for it, waits that close a ring not counted. Last come those that neither
/// wait for others nor are waited for.
fn layers(graph: &Graph) -> Vec<usize> {
    let count = graph.nodes.len();
    let mut next = vec![Vec::new(); count];
    for edge in &graph.edges {
        next[edge.from].push(edge.to);
    }
    let mut order = Vec::new();
    let mut state = vec![Visit::New; count];
    let mut closing = Vec::new();
    for begin in 0..count {
        visit(begin, &next, &mut state, &mut order, &mut closing);
    }
    let mut layers = vec![0; count];
    for &node in order.iter().rev() {
        for &to in &next[node] {
            if to != node && !closing.contains(&(node, to)) {
                layers[to] = layers[to].max(layers[node] + 1);
            }
        }
    }
    let last = graph
        .edges
        .iter()
        .map(|edge| layers[edge.from].max(layers[edge.to]) + 1);
    let last = last.max().unwrap_or(0);
    for (node, layer) in layers.iter_mut().enumerate() {
        let is_connected = graph
            .edges
            .iter()
            .any(|edge| edge.from == node || edge.to == node);
        if !is_connected {
            *layer = last;
        }
    }
    layers
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    Open,
    Done,
}

/// Visits what can be reached, depth first, without recursion; finds the edges that close a ring.
fn visit(
    begin: usize,
    next: &[Vec<usize>],
    state: &mut [Visit],
    order: &mut Vec<usize>,
    closing: &mut Vec<(usize, usize)>,
) {
    if state[begin] != Visit::New {
        return;
    }
    state[begin] = Visit::Open;
    let mut path = vec![(begin, 0)];
    while let Some((node, child)) = path.pop() {
        match next[node].get(child) {
            None => {
                state[node] = Visit::Done;
                order.push(node);
            }
            Some(&to) => {
                path.push((node, child + 1));
                match state[to] {
                    Visit::New => {
                        state[to] = Visit::Open;
                        path.push((to, 0));
                    }
                    Visit::Open => closing.push((node, to)),
                    Visit::Done => {}
                }
            }
        }
    }
}

/// Where each node is drawn, and the size of the whole.
fn places(graph: &Graph, layers: &[usize]) -> (Vec<Place>, usize, usize) {
    let mut places = vec![Place::default(); graph.nodes.len()];
    let (mut y, mut widest) = (MARGIN, 2 * MARGIN);
    let deepest = layers.iter().copied().max().unwrap_or(0);
    for layer in 0..=deepest {
        let nodes = below_waiters(graph, layers, layer, &places);
        let begin = y;
        let rows = rows(graph, &nodes);
        for (row, boxes) in rows.iter().enumerate() {
            let mut x = MARGIN;
            for &(at, (width, height)) in boxes {
                places[at] = Place {
                    x,
                    y,
                    width,
                    height,
                    begin: (row > 0).then_some(begin),
                    end: None,
                };
                x += width + GAP;
                widest = widest.max(x - GAP + MARGIN);
            }
            y += boxes
                .iter()
                .map(|(_, (_, height))| *height)
                .max()
                .unwrap_or(0)
                + MARGIN;
        }
        y -= MARGIN;
        for (at, _) in rows.iter().rev().skip(1).flatten() {
            places[*at].end = Some(y);
        }
        y += GAP_BETWEEN_LAYERS;
    }
    (places, widest + MARGIN, y + MARGIN - GAP_BETWEEN_LAYERS)
}

/// The nodes of a layer with their sizes, row by row. In a layer with many nodes, which has several rows, all are of the
/// same width, so that lines can pass between them.
fn rows(graph: &Graph, nodes: &[usize]) -> Vec<Vec<(usize, (usize, usize))>> {
    let sized = nodes.iter().map(|&at| (at, size(&graph.nodes[at])));
    let sized: Vec<(usize, (usize, usize))> = sized.collect();
    let together: usize = sized.iter().map(|(_, (width, _))| width + GAP).sum();
    if MARGIN + together <= WIDTH_WANTED + GAP || sized.len() < 2 {
        return vec![sized];
    }
    let widest = sized.iter().map(|(_, (width, _))| *width).max();
    let widest = widest.unwrap_or(0);
    let in_row = ((WIDTH_WANTED - MARGIN + GAP) / (widest + GAP)).max(1);
    let same = |&(at, (_, height)): &(usize, (usize, usize))| (at, (widest, height));
    let rows = sized.chunks(in_row);
    rows.map(|row| row.iter().map(same).collect()).collect()
}

/// The nodes of a layer from left to right, each as near as can be to those above that wait for it.
fn below_waiters(graph: &Graph, layers: &[usize], layer: usize, places: &[Place]) -> Vec<usize> {
    let mut nodes: Vec<usize> = (0..layers.len())
        .filter(|&at| layers[at] == layer)
        .collect();
    nodes.sort_by_key(|&at| {
        let above = graph
            .edges
            .iter()
            .filter(|edge| edge.to == at && layers[edge.from] < layer);
        let middles: Vec<usize> = above
            .map(|edge| places[edge.from].x + places[edge.from].width / 2)
            .collect();
        middles.iter().sum::<usize>().checked_div(middles.len())
    });
    nodes
}

fn size(node: &Node) -> (usize, usize) {
    let longest = node
        .lines
        .iter()
        .map(|line| shown(line).chars().count())
        .max();
    let width = (longest.unwrap_or(0) * CHAR_WIDTH_TENTHS).div_ceil(10) + 2 * PADDING;
    (width, node.lines.len() * LINE_HEIGHT + 2 * PADDING)
}

fn draw_node(svg: &mut String, node: &Node, place: Place) {
    let Place {
        x,
        y,
        width,
        height,
        ..
    } = place;
    let kind = match node.kind {
        NodeKind::Tasks => "tasks",
        NodeKind::Channel => "channel",
        NodeKind::Threads => "threads",
        NodeKind::Method => "method",
    };
    let deadlocked = if node.is_deadlocked {
        " deadlocked"
    } else {
        ""
    };
    let all = node.lines.join("\n");
    let tasks = node.tasks.as_ref().map_or(String::new(), |tasks| {
        let (state, numbers) = (escaped(&tasks.state), escaped(&tasks.numbers.join(" ")));
        format!(" data-state=\"{state}\" data-tasks=\"{numbers}\"")
    });
    let _ = write!(
        svg,
        "<g class=\"node {kind}{deadlocked}\"{tasks} tabindex=\"0\" role=\"group\" aria-label=\"{0}\"><title>{0}</title>\
         <rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>",
        escaped(&all)
    );
    for (count, line) in node.lines.iter().enumerate() {
        let class = if count == 0 { "head" } else { "line" };
        let baseline = y + PADDING + LINE_HEIGHT * (count + 1) - LINE_HEIGHT / 4;
        let _ = write!(
            svg,
            "<text class=\"{class}\" x=\"{}\" y=\"{baseline}\">{}</text>",
            x + PADDING,
            escaped(&shown(line))
        );
    }
    svg.push_str("</g>");
}

fn draw_edge(svg: &mut String, edge: &Edge, places: &[Place], leads_down: bool, words: &Words) {
    let (from, to) = (places[edge.from], places[edge.to]);
    let class = if edge.is_deadlocked {
        "edge deadlocked"
    } else {
        "edge"
    };
    let ends = format!("data-from=\"{}\" data-to=\"{}\"", edge.from, edge.to);
    let (path, (x, y)) = if leads_down {
        way_down(from, to)
    } else {
        // Back up, at the right of both; to itself, from the lower part to the upper one.
        let (x1, y1) = (from.x + from.width, from.y + from.height * 2 / 3);
        let (x2, y2) = (to.x + to.width, to.y + to.height / 3);
        let beside = x1.max(x2) + GAP;
        let path = format!("M{x1} {y1}C{beside} {y1} {beside} {y2} {x2} {y2}");
        (path, (beside, usize::midpoint(y1, y2)))
    };
    let _ = write!(
        svg,
        "<path class=\"{class}\" {ends} d=\"{path}\" {}=\"url(#{})\"><title>{} {}</title></path>",
        words.marker_at, words.marker, edge.count, words.edges
    );
    if edge.count > 1 && leads_down {
        let _ = write!(
            svg,
            "<text class=\"count\" {ends} x=\"{x}\" y=\"{y}\">{}</text>",
            edge.count
        );
    }
}

/// The path from a box to one in a lower layer, and where its count is written. Other rows of both layers are passed
/// between their boxes.
fn way_down(from: Place, to: Place) -> (String, (usize, usize)) {
    let (mut x1, mut y1) = (from.x + from.width / 2, from.y + from.height);
    let mut path = format!("M{x1} {y1}");
    if let Some(end) = from.end {
        let (lane, below) = (from.lane(), y1 + MARGIN);
        let turn = y1 + MARGIN / 2;
        let _ = write!(path, "C{x1} {turn} {lane} {turn} {lane} {below}V{end}");
        (x1, y1) = (lane, end);
    }
    let (x, y) = (to.x + to.width / 2, to.y);
    let (x2, y2) = to.begin.map_or((x, y), |begin| (to.lane(), begin));
    let middle = usize::midpoint(y1, y2);
    let _ = write!(path, "C{x1} {middle} {x2} {middle} {x2} {y2}");
    if to.begin.is_some() {
        let (above, turn) = (y - MARGIN, y - MARGIN / 2);
        let _ = write!(path, "V{above}C{x2} {turn} {x} {turn} {x} {y}");
    }
    (path, (usize::midpoint(x1, x2) + 4, middle))
}

/// A line as far as it fits: of a long one the end, where the line number is, and the words before a path, these
/// too only as far as they fit.
fn shown(line: &str) -> String {
    let count = line.chars().count();
    if count <= LINE_CHARS_MAX {
        return line.to_owned();
    }
    let words = line.rfind(AT).map_or("", |found| &line[..found]);
    let kept = words.chars().count();
    let room = LINE_CHARS_MAX - PLACE_CHARS_MIN - AT.len();
    let words = match kept {
        0 => String::new(),
        _ if kept <= room => format!("{words}{AT}"),
        _ => words
            .chars()
            .take(room - 1)
            .chain("…".chars())
            .chain(AT.chars())
            .collect(),
    };
    let room = LINE_CHARS_MAX - 1 - words.chars().count();
    let end: String = line.chars().skip(count - room).collect();
    format!("{words}…{end}")
}

/// Text of others, safe between tags and in quotes. What XML has no place for becomes a mark.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' => safe.push_str("&#10;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

const MARGIN: usize = 24;
const GAP: usize = 28;
const GAP_BETWEEN_LAYERS: usize = 56;
const PADDING: usize = 10;
const LINE_HEIGHT: usize = 17;
/// Of a monospaced letter at 12 pixels, in tenths of a pixel.
const CHAR_WIDTH_TENTHS: usize = 73;
const LINE_CHARS_MAX: usize = 48;
/// What is left of a path at least: the end of a name, line and column.
const PLACE_CHARS_MIN: usize = 12;
/// Between the words of a line and a path.
const AT: &str = " at ";
/// A row is ended when it would be wider.
const WIDTH_WANTED: usize = 1_200;

#[cfg(test)]
mod tests {
    use super::{LINE_CHARS_MAX, PLACE_CHARS_MIN, draw, escaped, layers, places, shown};
    use crate::graph::Graph;
    use crate::graph::tests::task;
    use crate::stacks::Stacks;
    use crate::thread_graph::tests::thread;
    use crate::view::View;

    fn graph(tasks: &[(usize, &[&str])]) -> Graph {
        let tasks = tasks.iter().map(|(number, waits)| {
            // Another place for each, so that none are merged.
            task(*number, &format!("src/main.rs:{number}:1"), waits)
        });
        Graph::of(&View {
            tasks: tasks.collect(),
            ..View::default()
        })
    }

    fn layer_of(graph: &Graph, number: usize) -> usize {
        let place = format!("spawned at src/main.rs:{number}:1");
        let at = graph
            .nodes
            .iter()
            .position(|node| node.lines.contains(&place));
        layers(graph)[at.unwrap()]
    }

    #[test]
    fn who_waits_stands_above_what_it_waits_for() {
        let graph = graph(&[(1, &["2", "3"]), (2, &["3"]), (3, &["4"]), (4, &[])]);
        let all: Vec<usize> = (1..=4).map(|number| layer_of(&graph, number)).collect();
        assert_eq!(all, [0, 1, 2, 3]);
    }

    #[test]
    fn those_that_have_to_do_with_nobody_come_last() {
        let graph = graph(&[(1, &["2"]), (2, &[]), (3, &[]), (4, &[])]);
        let all: Vec<usize> = (1..=4).map(|number| layer_of(&graph, number)).collect();
        assert_eq!(all, [0, 1, 2, 2]);
    }

    #[test]
    fn rings_and_waits_for_oneself_are_drawn_too() {
        for tasks in [
            [(1, &["2"][..]), (2, &["3"]), (3, &["1"])],
            [(1, &["1"]), (2, &["1"]), (3, &["2"])],
        ] {
            let graph = graph(&tasks);
            let svg = draw(&graph);
            assert_eq!(svg.matches("marker-end").count(), 3, "{svg}");
            assert!(layers(&graph).iter().all(|&layer| layer < 3));
        }
    }

    #[test]
    fn calls_are_drawn_with_arrows_from_the_caller_and_names_of_functions_are_text() {
        let evil = ["</text><script>alert(1)</script>", "work"];
        let threads = vec![thread(0, &evil), thread(1, &["other", "work"])];
        let svg = draw(&Graph::of_stacks(&Stacks { threads }));
        assert_eq!(svg.matches("marker-start=\"url(#call-arrow)\"").count(), 2);
        assert!(svg.contains("id=\"call-arrow\"") && !svg.contains("marker-end"));
        assert!(
            !svg.contains("<script") && svg.contains("&lt;script&gt;"),
            "{svg}"
        );
        assert!(svg.contains("2 threads · worker 0, worker 1"), "{svg}");
    }

    #[test]
    fn a_node_of_tasks_carries_what_the_page_chooses_by() {
        let svg = draw(&graph(&[(1, &["2"]), (2, &[])]));
        for part in [
            "<g class=\"node tasks\" data-state=\"waiting\" data-tasks=\"1\" tabindex",
            "<g class=\"node tasks\" data-state=\"running\" data-tasks=\"2\" tabindex",
        ] {
            assert!(svg.contains(part), "{part} is missing in {svg}");
        }
    }

    #[test]
    fn text_of_the_program_is_text_in_the_picture() {
        let mut evil = task(1, "src/main.rs:1:1", &[]);
        evil.name = Some("</text><script>alert(1)</script>\" onload=\"x\u{1b}[2J".to_owned());
        let svg = draw(&Graph::of(&View {
            tasks: vec![evil],
            ..View::default()
        }));
        assert!(
            !svg.contains("<script") && !svg.contains("\" onload"),
            "{svg}"
        );
        assert!(!svg.contains('\u{1b}'), "{svg}");
        assert!(svg.contains("&lt;/text&gt;&lt;script&gt;"), "{svg}");
        assert_eq!(
            escaped("a<b>&\"'\n\0"),
            "a&lt;b&gt;&amp;&quot;&#39;&#10;\u{fffd}"
        );
    }

    #[test]
    fn lines_pass_between_the_boxes_of_other_rows() {
        // Two layers of seven boxes, each in several rows, and each waits for one of the lower ones.
        let waits: Vec<String> = (11..=17).map(|number| number.to_string()).collect();
        let waits: Vec<[&str; 1]> = waits.iter().map(|number| [number.as_str()]).collect();
        let above = (1..=7).zip(waits.iter().rev().map(|waits| &waits[..]));
        let below = (11..=17).map(|number| (number, &[][..]));
        let graph = graph(&above.chain(below).collect::<Vec<_>>());
        let (places, width, height) = places(&graph, &layers(&graph));
        let rows: std::collections::BTreeSet<usize> = places.iter().map(|place| place.y).collect();
        assert!(rows.len() >= 4, "{rows:?}");
        let svg = draw(&graph);
        let paths: Vec<&str> = svg.split(" d=\"M").skip(2).collect();
        assert_eq!(paths.len(), 7);
        for path in paths {
            let path = path.split('"').next().unwrap();
            // Where it goes straight down it is in no box.
            for (before, down) in path.split('V').zip(path.split('V').skip(1)) {
                let number = |text: &str| text.parse::<usize>().unwrap();
                let mut end = before.rsplit([' ', 'C']);
                let (from, x) = (number(end.next().unwrap()), number(end.next().unwrap()));
                let to = number(down.split('C').next().unwrap());
                assert!(from <= to && to <= height && x <= width, "{path}");
                for place in &places {
                    let is_beside = x < place.x || x > place.x + place.width;
                    let is_apart = to <= place.y || from >= place.y + place.height;
                    assert!(is_beside || is_apart, "{path} goes through {place:?}");
                }
            }
        }
    }

    #[test]
    fn of_a_long_line_the_end_is_shown() {
        let long = format!("{}.rs:12:5", "x".repeat(100));
        assert_eq!(shown(&long).chars().count(), LINE_CHARS_MAX);
        assert!(shown(&long).starts_with('…') && shown(&long).ends_with(".rs:12:5"));
        assert_eq!(shown("short"), "short");
        let place = shown(&format!("spawned at /{}.rs:12:5", "x".repeat(100)));
        assert_eq!(place.chars().count(), LINE_CHARS_MAX);
        assert!(
            place.starts_with("spawned at …x") && place.ends_with(".rs:12:5"),
            "{place}"
        );
        let named =
            "awaits one of several 'uploads of the whole day' at src/office/uploads.rs:12:5";
        let named = shown(named);
        assert_eq!(named.chars().count(), LINE_CHARS_MAX);
        assert!(
            named.starts_with("awaits one of several") && named.ends_with("ads.rs:12:5"),
            "{named}"
        );
        assert!(named.contains("… at …"), "{named}");
        assert_eq!(
            named.split(" at …").nth(1).unwrap().chars().count(),
            PLACE_CHARS_MIN - 1
        );
    }
}
