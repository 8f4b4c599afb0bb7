// SPDX-License-Identifier: Apache-2.0
//
// gpuexec-bindgen HEADER: prints the declarations of gpuexec-sys/src/bindings.rs. They are the
// same for every 64-bit target: the header has fixed-width types, size_t and pointers only.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (Some(header), None) = (args.next(), args.next()) else {
        eprintln!("usage: gpuexec-bindgen HEADER");
        return ExitCode::from(2);
    };
    let made = bindgen::Builder::default()
        .header(header)
        .allowlist_item("(gx|GX)_.*")
        .blocklist_item("GX_API")
        .use_core()
        .default_enum_style(bindgen::EnumVariation::Consts)
        .derive_default(true)
        .formatter(bindgen::Formatter::Prettyplease)
        .disable_header_comment()
        .raw_line("// SPDX-License-Identifier: Apache-2.0")
        .raw_line("//")
        .raw_line("// Made by bindgen from the headers: bindings/rust/test.sh says how.")
        .generate();
    match made {
        Ok(bindings) => {
            print!("{bindings}");
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("gpuexec-bindgen: {e}");
            ExitCode::FAILURE
        }
    }
}
