//! Compiles the OpenMP contender with gcc and libgomp.
//!
//! A machine without them still builds: the contender is then absent and says why.

use std::env;
use std::fs;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=src/loops/openmp.c");
    println!("cargo::rerun-if-env-changed=PEERS_WITHOUT_OPENMP");
    println!("cargo::rustc-check-cfg=cfg(openmp)");
    match openmp() {
        Ok(()) => println!("cargo::rustc-cfg=openmp"),
        Err(reason) => println!("cargo::rustc-env=PEERS_OPENMP_ABSENT={reason}"),
    }
}

/// Compiles and links the contender; the error is the one-line reason it is absent.
fn openmp() -> Result<(), String> {
    if env::var_os("PEERS_WITHOUT_OPENMP").is_some() {
        return Err("built with PEERS_WITHOUT_OPENMP set".to_owned());
    }
    let mut build = cc::Build::new();
    build
        .file("src/loops/openmp.c")
        .flag("-O3")
        .flag("-fopenmp")
        .cargo_warnings(false);
    // Saxpy must round as Rust does, so that checksums agree on every machine.
    build.flag("-ffp-contract=off");
    let compiler = build
        .try_get_compiler()
        .map_err(|_| "no C compiler found".to_owned())?;
    if !compiler.is_like_gnu() {
        return Err("the C compiler is not gcc".to_owned());
    }
    let out = env::var("OUT_DIR").map_err(|error| error.to_string())?;
    link_probe(&compiler, Path::new(&out))?;
    build
        .try_compile("peers_openmp")
        .map_err(|_| "gcc could not compile openmp.c".to_owned())?;
    if let Some(folder) = libgomp_folder(&compiler) {
        println!("cargo::rustc-link-search=native={folder}");
    }
    println!("cargo::rustc-link-lib=gomp");
    Ok(())
}

/// Links a program that uses libgomp, so that a missing library is found here and not by rustc.
fn link_probe(compiler: &cc::Tool, out: &Path) -> Result<(), String> {
    let source = out.join("probe.c");
    let program = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n";
    fs::write(&source, program).map_err(|error| error.to_string())?;
    let output = compiler
        .to_command()
        .arg(&source)
        .arg("-o")
        .arg(out.join("probe"))
        .output()
        .map_err(|error| format!("the C compiler could not be run: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err("libgomp is not installed".to_owned())
    }
}

/// The folder of gcc's own libgomp, which the linker's default path may not name.
fn libgomp_folder(compiler: &cc::Tool) -> Option<String> {
    let output = compiler
        .to_command()
        .arg("-print-file-name=libgomp.so")
        .output()
        .ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    let folder = Path::new(path.trim()).parent()?.to_str()?;
    (!folder.is_empty()).then(|| folder.to_owned())
}
