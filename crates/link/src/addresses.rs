//! Name and addresses of this host.

use std::net::Ipv4Addr;

/// The IPv4 addresses of this host, without loopback.
pub fn local_addresses() -> Vec<Ipv4Addr> {
    parse(&std::fs::read_to_string("/proc/net/fib_trie").unwrap_or_default())
}

/// The name of this host, restricted to characters that are safe in file names.
pub fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name: String =
        name.trim().chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' }).collect();
    if name.is_empty() { "host".into() } else { name }
}

/// In the kernel's routing table, an address of this host is a line with the address followed by one that marks it as local.
fn parse(table: &str) -> Vec<Ipv4Addr> {
    let mut addresses = Vec::new();
    let mut last: Option<Ipv4Addr> = None;
    for line in table.lines() {
        if let Some(text) = line.trim_start().strip_prefix("|-- ") {
            last = text.trim().parse().ok();
        } else if line.contains("/32 host LOCAL")
            && let Some(address) = last.filter(|address| !address.is_loopback())
            && !addresses.contains(&address)
        {
            addresses.push(address);
        }
    }
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_host_are_found_in_the_table_of_routes() {
        let table = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.0.0.7\n        /32 host LOCAL\n     |-- 10.0.0.255\n        /32 link BROADCAST\n     |-- 127.0.0.1\n        /32 host LOCAL\nLocal:\n     |-- 10.0.0.7\n        /32 host LOCAL\n";
        assert_eq!(parse(table), [Ipv4Addr::new(10, 0, 0, 7)]);
        assert!(parse("anything else").is_empty());
    }
}
