// SPDX-License-Identifier: Apache-2.0

fn main() {
    println!("cargo:rerun-if-changed=src/overhead.c");
    cc::Build::new().file("src/overhead.c").include("../../../include").compile("overhead");
}
