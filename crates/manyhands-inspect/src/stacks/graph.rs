//! Many stacks as one graph: what several of them have in common is there once, with their number.
//!
//! Stacks that begin with the same functions share them, whatever the lines; where they part, the graph branches. A
//! piece in which nothing branches or ends is one [`Segment`]. A function of the stacks alone: who they are of, threads or
//! tasks, is the caller's business.

use crate::view::add;
use serde::Serialize;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Merged stacks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Graph {
    /// How many stacks were merged.
    pub stacks: usize,
    /// The segments, each after the one that calls it, and of those with the same caller the one with the most stacks
    /// first.
    pub segments: Vec<Segment>,
    /// Segments that are not listed because there are too many. Their stacks are counted in the segment that calls them.
    pub segments_left_out: usize,
}

/// Functions that call one another, and the stacks that they are common to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// The number of the segment that calls this one; none if it is the outermost of its stacks.
    pub parent: Option<usize>,
    /// How many stacks go through it.
    pub stacks: usize,
    /// Which ones, by their numbers; at most the first hundred.
    pub members: Vec<usize>,
    /// How many of them end in it.
    pub ends: usize,
    /// The functions, the outermost first.
    pub methods: Vec<Method>,
}

/// A function, and where in it the stacks are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Method {
    /// The function.
    pub function: String,
    /// The lines in it, that with the most stacks first.
    pub places: Vec<Place>,
}

/// A line, and how many stacks are there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// File and line; none if it is not known.
    pub at: Option<String>,
    /// How many stacks.
    pub stacks: usize,
}

/// A function that a stack goes through.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Call {
    pub(crate) function: String,
    /// File and line.
    pub(crate) at: Option<String>,
}

/// Merges stacks, each with the outermost call first.
pub(crate) fn merge<'calls>(stacks: impl IntoIterator<Item = &'calls [Call]>) -> Graph {
    merge_weighted(stacks.into_iter().map(|calls| (1, calls)))
}

/// Merges stacks, each with how many there are of it.
pub(crate) fn merge_weighted<'calls>(
    stacks: impl IntoIterator<Item = (usize, &'calls [Call])>,
) -> Graph {
    let mut tree = Tree::default();
    for (member, (weight, calls)) in stacks.into_iter().enumerate() {
        tree.add(member, weight, calls);
    }
    tree.segments()
}

/// Functions by what calls them. The first node stands for the caller of all, and for stacks that have none.
struct Tree<'calls> {
    nodes: Vec<Node<'calls>>,
    stacks: usize,
}

#[derive(Default)]
struct Node<'calls> {
    function: &'calls str,
    stacks: usize,
    ends: usize,
    members: Vec<usize>,
    places: Vec<(Option<&'calls str>, usize)>,
    children: HashMap<&'calls str, usize>,
}

impl Default for Tree<'_> {
    fn default() -> Self {
        Self {
            nodes: vec![Node::default()],
            stacks: 0,
        }
    }
}

impl<'calls> Tree<'calls> {
    fn add(&mut self, member: usize, weight: usize, calls: &'calls [Call]) {
        let mut at = 0;
        add(&mut self.stacks, weight);
        if calls.is_empty() {
            self.nodes[at].pass(member, weight);
        }
        for call in calls {
            let new = self.nodes.len();
            at = match self.nodes[at].children.entry(&call.function) {
                Entry::Occupied(child) => *child.get(),
                Entry::Vacant(place) => *place.insert(new),
            };
            if at == new {
                self.nodes.push(Node {
                    function: &call.function,
                    ..Node::default()
                });
            }
            self.nodes[at].pass(member, weight);
            self.nodes[at].stand_at(call.at.as_deref(), weight);
        }
        add(&mut self.nodes[at].ends, weight);
    }

    fn segments(&self) -> Graph {
        let mut graph = Graph {
            stacks: self.stacks,
            ..Graph::default()
        };
        if self.nodes[0].ends > 0 {
            // Stacks without a function.
            graph.segments.push(self.segment(None, &[0]));
        }
        let mut open: Vec<(Option<usize>, usize)> = Vec::new();
        self.push_children(None, 0, &mut open);
        // Depth first, so that a segment is followed by those that it calls.
        while let Some((parent, first)) = open.pop() {
            if graph.segments.len() == SEGMENTS_MAX {
                graph.segments_left_out += 1;
                continue;
            }
            let chain = self.chain_from(first);
            let last = chain[chain.len() - 1];
            graph.segments.push(self.segment(parent, &chain));
            self.push_children(Some(graph.segments.len() - 1), last, &mut open);
        }
        graph
    }

    /// The nodes from this one on in which nothing branches and nothing ends.
    fn chain_from(&self, first: usize) -> Vec<usize> {
        let mut chain = vec![first];
        let mut at = &self.nodes[first];
        while at.ends == 0 && at.children.len() == 1 {
            chain.extend(at.children.values());
            at = &self.nodes[chain[chain.len() - 1]];
        }
        chain
    }

    fn segment(&self, parent: Option<usize>, chain: &[usize]) -> Segment {
        let last = &self.nodes[chain[chain.len() - 1]];
        let named = chain.iter().filter(|idx| **idx != 0);
        Segment {
            parent,
            stacks: last.stacks,
            members: last.members.clone(),
            ends: last.ends,
            methods: named.map(|idx| self.nodes[*idx].method()).collect(),
        }
    }

    /// In such an order that the one with the most stacks is popped first.
    fn push_children(
        &self,
        parent: Option<usize>,
        of: usize,
        open: &mut Vec<(Option<usize>, usize)>,
    ) {
        let mut children: Vec<usize> = self.nodes[of].children.values().copied().collect();
        let rank = |idx: &usize| {
            let node = &self.nodes[*idx];
            (node.stacks, std::cmp::Reverse(node.function))
        };
        children.sort_unstable_by(|a, b| rank(a).cmp(&rank(b)));
        open.extend(children.into_iter().map(|child| (parent, child)));
    }
}

impl<'calls> Node<'calls> {
    fn pass(&mut self, member: usize, weight: usize) {
        add(&mut self.stacks, weight);
        if self.members.len() < MEMBERS_MAX {
            self.members.push(member);
        }
    }

    fn stand_at(&mut self, at: Option<&'calls str>, weight: usize) {
        match self.places.iter_mut().find(|(known, _)| *known == at) {
            Some((_, stacks)) => add(stacks, weight),
            None => self.places.push((at, weight)),
        }
    }

    fn method(&self) -> Method {
        let mut places = self.places.clone();
        places.sort_by_key(|(at, stacks)| (std::cmp::Reverse(*stacks), *at));
        let place = |(at, stacks): (Option<&str>, usize)| Place {
            at: at.map(str::to_owned),
            stacks,
        };
        Method {
            function: self.function.to_owned(),
            places: places.into_iter().map(place).collect(),
        }
    }
}

/// More are of no use on a page.
const SEGMENTS_MAX: usize = 2_000;
const MEMBERS_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::{Call, Graph, MEMBERS_MAX, SEGMENTS_MAX, merge};

    /// Stacks of functions, each a letter with the line that follows it.
    fn graph(stacks: &[&str]) -> Graph {
        let call = |text: &str| Call {
            function: text[..1].to_owned(),
            at: Some(text[1..].to_owned()).filter(|at| !at.is_empty()),
        };
        let stacks: Vec<Vec<Call>> = stacks
            .iter()
            .map(|stack| stack.split_whitespace().map(call).collect())
            .collect();
        merge(stacks.iter().map(Vec::as_slice))
    }

    /// `parent number: functions × stacks`, and how many end there.
    fn lines(graph: &Graph) -> Vec<String> {
        let line = |segment: &super::Segment| {
            let functions = segment.methods.iter().map(|method| &*method.function);
            let functions: String = functions.collect();
            let parent = segment.parent.map_or("-".to_owned(), |at| at.to_string());
            format!(
                "{parent}: {functions} × {}, {} end",
                segment.stacks, segment.ends
            )
        };
        graph.segments.iter().map(line).collect()
    }

    #[test]
    fn stacks_with_the_same_beginning_share_it_and_branch_where_they_part() {
        let graph = graph(&["a b c", "a b d e", "a b d e", "x"]);
        assert_eq!(
            lines(&graph),
            [
                "-: ab × 3, 0 end",
                "0: de × 2, 2 end",
                "0: c × 1, 1 end",
                "-: x × 1, 1 end"
            ]
        );
        assert_eq!(graph.stacks, 4);
        assert_eq!(graph.segments[1].members, [1, 2]);
    }

    #[test]
    fn a_stack_that_ends_where_another_goes_on_ends_a_segment() {
        assert_eq!(
            lines(&graph(&["a b", "a b c"])),
            ["-: ab × 2, 1 end", "0: c × 1, 1 end"]
        );
    }

    #[test]
    fn lines_of_a_function_do_not_part_stacks_and_are_counted() {
        let graph = graph(&["a1 b7", "a2 b7", "a2 b"]);
        assert_eq!(lines(&graph), ["-: ab × 3, 3 end"]);
        let places = |method: usize| -> Vec<(Option<&str>, usize)> {
            let places = graph.segments[0].methods[method].places.iter();
            places
                .map(|place| (place.at.as_deref(), place.stacks))
                .collect()
        };
        assert_eq!(places(0), [(Some("2"), 2), (Some("1"), 1)]);
        assert_eq!(places(1), [(Some("7"), 2), (None, 1)]);
    }

    #[test]
    fn a_function_that_calls_itself_is_there_once_for_each_call() {
        assert_eq!(
            lines(&graph(&["f f f", "f f"])),
            ["-: ff × 2, 1 end", "0: f × 1, 1 end"]
        );
    }

    #[test]
    fn stacks_without_functions_are_a_segment_of_their_own() {
        assert_eq!(lines(&graph(&[])), [""; 0]);
        assert_eq!(
            lines(&graph(&["", "", "a"])),
            ["-:  × 2, 2 end", "-: a × 1, 1 end"]
        );
    }

    #[test]
    fn every_stack_is_counted_once_in_each_segment_that_it_goes_through() {
        // All stacks of three letters out of three, in a mixed order.
        let letters = ["a", "b", "c"];
        let stacks: Vec<String> = (0..54)
            .map(|n| n * 5)
            .map(|n| {
                format!(
                    "{} {} {}",
                    letters[n % 3],
                    letters[n / 3 % 3],
                    letters[n / 9 % 3]
                )
            })
            .collect();
        let graph = graph(&stacks.iter().map(String::as_str).collect::<Vec<_>>());
        let ends: usize = graph.segments.iter().map(|segment| segment.ends).sum();
        assert_eq!((ends, graph.stacks, graph.segments.len()), (54, 54, 39));
        for (idx, segment) in graph.segments.iter().enumerate() {
            let children = graph.segments.iter().filter(|s| s.parent == Some(idx));
            let of_children: usize = children.map(|child| child.stacks).sum();
            assert_eq!(segment.stacks, segment.ends + of_children);
            assert_eq!(segment.members.len(), segment.stacks.min(MEMBERS_MAX));
            assert!(segment.parent.is_none_or(|parent| parent < idx));
        }
    }

    #[test]
    fn too_many_segments_are_counted_and_not_listed_and_many_equal_stacks_are_one() {
        let call = |function: String| vec![Call { function, at: None }];
        let different: Vec<_> = (0..SEGMENTS_MAX + 5).map(|n| call(n.to_string())).collect();
        let graph = merge(different.iter().map(Vec::as_slice));
        assert_eq!(
            (graph.segments.len(), graph.segments_left_out),
            (SEGMENTS_MAX, 5)
        );
        let same = call("same".to_owned());
        let graph = merge(std::iter::repeat_n(same.as_slice(), 100_000));
        assert_eq!(graph.segments.len(), 1);
        let only = &graph.segments[0];
        assert_eq!((only.stacks, only.members.len()), (100_000, MEMBERS_MAX));
    }
}
