//! Hashes passwords with bcrypt, in this process or in workers.
//!
//! ```text
//! cargo run --release -p manyhands-cluster --example bcrypt
//! MANYHANDS_CLUSTER=local:4 cargo run --release -p manyhands-cluster --example bcrypt -- 1000
//! ```
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use manyhands_cluster::remote;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let cluster = manyhands_cluster::init()?;

    let count = std::env::args().nth(1);
    let count = count.map_or(Ok(300), |count| count.parse::<u64>())?;
    let passwords: Vec<String> = (0..count).map(|i| format!("password {i}")).collect();
    let cost = 4;
    let hashes = cluster.map(
        0..count,
        remote!([passwords: Vec<String>, cost: u32] |i| -> String {
            let password = &passwords[usize::try_from(i).expect("there are few")];
            let mut salt = [0; 16];
            salt[..8].copy_from_slice(&i.to_le_bytes());
            let hash = bcrypt::hash_with_salt(password, *cost, salt).expect("the cost is allowed");
            hash.to_string()
        }),
    )?;

    // Order matters to the digest: another order, another number.
    let digest = hashes
        .iter()
        .flat_map(|hash| hash.bytes())
        .fold(0_u64, |digest, byte| {
            digest.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte)
        });
    println!("{} hashes, digest {digest:016x}", hashes.len());
    assert_eq!(hashes.len() as u64, count);
    for (place, hash) in hashes.iter().enumerate().step_by(19) {
        let password = format!("password {place}");
        let is_its_hash = bcrypt::verify(password, hash).expect("it is a hash");
        assert!(is_its_hash, "{place}");
    }
    Ok(())
}
