//! Hashes passwords with bcrypt, in this process or in workers.
//!
//! ```text
//! cargo run --release -p manyhands-cluster --example bcrypt
//! MANYHANDS_CLUSTER=local:4 cargo run --release -p manyhands-cluster --example bcrypt
//! ```
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use manyhands_cluster::{ClusterError, remote};

fn main() -> Result<(), ClusterError> {
    let cluster = manyhands_cluster::init()?;

    let passwords: Vec<String> = (0..PASSWORDS).map(|i| format!("password {i}")).collect();
    let cost = 4;
    let hashes = cluster.map(
        0..PASSWORDS,
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
    assert_eq!(hashes.len() as u64, PASSWORDS);
    assert!(bcrypt::verify("password 7", &hashes[7]).expect("it is a hash"));
    Ok(())
}

const PASSWORDS: u64 = 300;
