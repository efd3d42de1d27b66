//! A chain of twelve operators as an iterator. `cargo xtask compile-time` compiles it, and as a query; not a part of the
//! program.

fn main() {
    let words: Vec<String> = (0..2_000_u32).map(|n| format!("word {n}")).collect();
    let sum: u64 = words
        .iter()
        .enumerate()
        .skip(10)
        .step_by(3)
        .map(|(place, word)| (place as u64, word.len() as u64))
        .zip(0..1_000_u64)
        .filter(|((place, _), number)| (place + number) % 5 != 0)
        .flat_map(|((place, len), number)| [place, len, number])
        .filter_map(|value| value.checked_sub(3))
        .chain(0..100)
        .inspect(|value| assert!(*value < 10_000))
        .take_while(|value| *value < 5_000)
        .take(700)
        .sum();
    println!("{sum}");
}
