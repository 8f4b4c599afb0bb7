// SPDX-License-Identifier: Apache-2.0
//
// Finds the library, in this order:
//   - feature `source`: built here, from the tree that this crate is in;
//   - installed in $GPUEXEC_PREFIX, or anywhere pkg-config looks;
//   - built here.
// What cargo runs finds a shared library where it is, without LD_LIBRARY_PATH: see findable(). Crates
// that depend on this one are told the folder of the library in DEP_GPUEXEC_LIBDIR.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=GPUEXEC_PREFIX");
    println!("cargo:rerun-if-env-changed=DOCS_RS");
    if env::var_os("DOCS_RS").is_some() {
        return; // documentation links nothing
    }
    if env::var_os("CARGO_FEATURE_SOURCE").is_some() {
        return build(&tree().expect("gpuexec-sys: feature `source` needs the tree around it"));
    }
    match (installed(), tree()) {
        (Ok(()), _) => {}
        (Err(_), Some(tree)) if env::var_os("GPUEXEC_PREFIX").is_none() => build(&tree),
        (Err(e), _) => panic!(
            "gpuexec-sys: the library is not installed where pkg-config looks: set GPUEXEC_PREFIX \
             or PKG_CONFIG_PATH\n{e}"
        ),
    }
}

fn installed() -> Result<(), pkg_config::Error> {
    if let Some(prefix) = env::var_os("GPUEXEC_PREFIX") {
        let mut path: Vec<PathBuf> = glob_lib(Path::new(&prefix));
        path.extend(env::var_os("PKG_CONFIG_PATH").iter().flat_map(env::split_paths));
        env::set_var("PKG_CONFIG_PATH", env::join_paths(path).unwrap());
    }
    let version = env!("CARGO_PKG_VERSION");
    if env::var_os("CARGO_FEATURE_STATIC").is_some() {
        pkg_config::Config::new()
            .atleast_version(version)
            .cargo_metadata(false)
            .probe("gpuexec-static")?;
        link_static(Path::new(&pkg_config::get_variable("gpuexec-static", "libdir")?));
    } else {
        let library = pkg_config::Config::new().atleast_version(version).probe("gpuexec")?;
        if let Some(dir) = library.link_paths.first() {
            println!("cargo:libdir={}", dir.display());
            findable(dir);
        }
    }
    Ok(())
}

/// Links to the library, and to the folder with what it brings, in a folder below target: `cargo run`
/// and `cargo test` put those that a build script names on the loader's search path, but no others.
fn findable(dir: &Path) {
    let links = PathBuf::from(env::var_os("OUT_DIR").unwrap()).join("lib");
    let _ = std::fs::remove_dir_all(&links);
    std::fs::create_dir_all(&links).unwrap();
    #[cfg(unix)]
    for entry in dir.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let text = name.to_string_lossy();
        if text.starts_with("libgpuexec.so.") || text == "gpuexec" {
            std::os::unix::fs::symlink(entry.path(), links.join(&name)).unwrap();
        }
    }
    println!("cargo:rustc-link-search=native={}", links.display());
}

/// lib/pkgconfig, lib64/pkgconfig, lib/x86_64-linux-gnu/pkgconfig: whichever there is.
fn glob_lib(prefix: &Path) -> Vec<PathBuf> {
    let lib = prefix.join("lib");
    let inner = lib.read_dir().into_iter().flatten().flatten().map(|e| e.path());
    [prefix.join("lib64"), lib.clone()]
        .into_iter()
        .chain(inner)
        .map(|dir| dir.join("pkgconfig"))
        .filter(|dir| dir.is_dir())
        .collect()
}

fn tree() -> Option<PathBuf> {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    tree.join("include/gpuexec.h").is_file().then_some(tree)
}

fn build(tree: &Path) {
    for part in ["CMakeLists.txt", "cmake", "include", "src"] {
        println!("cargo:rerun-if-changed={}", tree.join(part).display());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let (dir, prefix) = (out.join("build"), out.join("install"));
    cmake(Command::new("cmake").arg("-S").arg(tree).arg("-B").arg(&dir).args([
        "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_INSTALL_LIBDIR=lib",
        "-DBUILD_SHARED_LIBS=OFF",
        "-DGPUEXEC_CLI=OFF",
        "-DGPUEXEC_TESTS=OFF",
    ]));
    let jobs = env::var("NUM_JOBS").unwrap_or_else(|_| "1".into());
    cmake(Command::new("cmake").arg("--build").arg(&dir).arg("--parallel").arg(jobs));
    cmake(Command::new("cmake").arg("--install").arg(&dir).arg("--prefix").arg(&prefix));
    link_static(&prefix.join("lib"));
}

fn cmake(command: &mut Command) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("gpuexec-sys: {command:?}: {status}"),
        Err(e) => panic!("gpuexec-sys: building the library needs cmake: {e}"),
    }
}

fn link_static(dir: &Path) {
    println!("cargo:rustc-link-search=native={}", dir.display());
    println!("cargo:rustc-link-lib=static=gpuexec");
    for library in ["pthread", "m", "dl"] {
        println!("cargo:rustc-link-lib={library}");
    }
    println!("cargo:libdir={}", dir.display());
}
