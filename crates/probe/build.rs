//! Sets the soname by which the dynamic linker recognises an already loaded probe.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsintonia_probe.so");
}
