//! How to run: `cargo run --release --example 02_join`
//!
//! Fork-join: two halves of a problem, perhaps at the same time. A join that nobody steals costs a few
//! nanoseconds, so the recursion needs a cut-off only where the plain code is better anyway.

use manyhands::join;

/// Sorts by quicksort, both parts at once.
fn sort<T: Ord + Send>(items: &mut [T]) {
    if items.len() <= 32 {
        items.sort_unstable();
        return;
    }
    let middle = partition(items);
    let (left, right) = items.split_at_mut(middle);
    join(|| sort(left), || sort(&mut right[1..]));
}

/// Puts an item where it belongs, smaller ones before it, and returns its place.
fn partition<T: Ord>(items: &mut [T]) -> usize {
    let last = items.len() - 1;
    items.swap(last / 2, last);
    let mut place = 0;
    for i in 0..last {
        if items[i] < items[last] {
            items.swap(i, place);
            place += 1;
        }
    }
    items.swap(place, last);
    place
}

fn main() {
    let mut numbers: Vec<u64> = (0..200_000).map(|i| i * 7_919 % 200_003).collect();
    let mut expected = numbers.clone();
    expected.sort_unstable();
    sort(&mut numbers);
    assert_eq!(numbers, expected);

    // More than two, of different types.
    let (least, count, text) =
        manyhands::parallel::invoke((|| numbers[0], || numbers.len(), || "sorted".to_owned()));
    assert_eq!((least, count, text.as_str()), (0, 200_000, "sorted"));
}
