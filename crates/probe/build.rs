//! Gives the probe the name by which the dynamic linker knows that it is there already.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsintonia_probe.so");
}
