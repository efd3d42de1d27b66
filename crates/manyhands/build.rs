//! Cargo wants a build script beside the key `links`; there is nothing to build.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
