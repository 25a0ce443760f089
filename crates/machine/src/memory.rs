//! Available memory of this host.

/// Bytes available to programs, if the system reports them.
pub fn free_memory() -> Option<u64> {
    available(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

/// `MemAvailable` of `/proc/meminfo`, in bytes.
fn available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_in_kibibytes() {
        assert_eq!(available("MemTotal:  9 kB\nMemAvailable:    1234 kB\nBuffers: 5 kB\n"), Some(1234 * 1024));
        assert_eq!(available("MemTotal:  9 kB\n"), None);
    }
}
